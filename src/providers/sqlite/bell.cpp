#include "providers/sqlite/bell.hpp"

#include "providers/sqlite/error.hpp"

#include <cerrno>
#include <chrono>
#include <climits>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace duramen::inline v0::sqlite::detail {

namespace {

constexpr std::size_t file_size = 4096;
constexpr std::chrono::seconds look_interval{1};

[[noreturn]] void fail(const std::string& path, int code) {
  const FileProblem problem = file_problem(code);
  throw StoreError(
      {ErrorCode::unavailable, "", "cannot create " + path + ": " + problem.text, problem.retryable});
}

void futex_wait(std::uint32_t* word, std::uint32_t seen, std::chrono::seconds limit) noexcept {
  timespec timeout{};
  timeout.tv_sec = limit.count();
  ::syscall(SYS_futex, word, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

void futex_wake_all(std::uint32_t* word) noexcept {
  ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

Bell::Bell(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) fail(path, errno);
  struct stat status{};
  int code = ::fstat(file, &status) == 0 ? 0 : errno;
  // Allocates the block, not only the size: touching a page without room on the disk would be a fault.
  if (code == 0 && status.st_size < static_cast<off_t>(file_size))
    code = ::posix_fallocate(file, 0, file_size);
  void* mapping = MAP_FAILED;
  if (code == 0) {
    mapping = ::mmap(nullptr, file_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapping == MAP_FAILED) code = errno;
  }
  ::close(file);
  if (code != 0) fail(path, code);
  shared_ = static_cast<Shared*>(mapping);
}

Bell::~Bell() {
  stop();
  ::munmap(shared_, file_size);
}

void Bell::ring(Topics topics) noexcept {
  const bool touched[topic_count] = {topics.turns_ready, topics.activities_ready, topics.stolen_leases,
                                     topics.instances};
  for (std::size_t i = 0; i < topic_count; ++i) {
    if (!touched[i]) continue;
    // Our own count first: the listening thread may then briefly see too few rings of other stores, but never
    // too many, and the word below makes it compare again.
    own_[i].fetch_add(1);
    std::atomic_ref(shared_->rings[i]).fetch_add(1);
  }
  std::atomic_ref(shared_->word).fetch_add(1);
  futex_wake_all(&shared_->word);
}

void Bell::listen(std::function<void(Topics)> rung, std::function<bool()> check) {
  const std::lock_guard guard{mutex_};
  if (thread_.joinable() || stopping_) return;
  rung_ = std::move(rung);
  check_ = std::move(check);
  seen_ = rung_by_others();
  thread_ = std::thread{[this] { run(); }};
}

void Bell::stop() {
  const std::lock_guard guard{mutex_};
  stopping_ = true;
  if (!thread_.joinable()) return;
  std::atomic_ref(shared_->word).fetch_add(1);
  futex_wake_all(&shared_->word);
  thread_.join();
}

Bell::Counts Bell::rung_by_others() const noexcept {
  Counts counts{};
  for (std::size_t i = 0; i < topic_count; ++i) {
    counts[i] = std::atomic_ref(shared_->rings[i]).load() - own_[i].load();
  }
  return counts;
}

void Bell::run() {
  auto next_look = std::chrono::steady_clock::now() + look_interval;
  while (!stopping_) {
    const std::uint32_t word = std::atomic_ref(shared_->word).load();
    if (stopping_) return;
    const Counts counts = rung_by_others();
    const auto news = [&](std::size_t i) { return static_cast<std::int64_t>(counts[i] - seen_[i]) > 0; };
    Topics topics{news(0), news(1), news(2), news(3)};
    for (std::size_t i = 0; i < topic_count; ++i) {
      if (news(i)) seen_[i] = counts[i];
    }
    const auto now = std::chrono::steady_clock::now();
    if (now >= next_look) {
      next_look = now + look_interval;
      if (check_()) topics = Topics::all();
    }
    if (topics.any()) rung_(topics);
    futex_wait(&shared_->word, word, look_interval);
  }
}

}  // namespace duramen::inline v0::sqlite::detail
