// A process that writes all the time does not block one that writes rarely.
#include "providers/sqlite/durability/scale.hpp"
#include "providers/sqlite/durability/tasks.hpp"
#include "providers/sqlite/fixture.hpp"
#include "support/child_process.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace duramen::sqlite::test {

namespace {

/// A number that processes share.
class SharedCount {
 public:
  explicit SharedCount(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
    if (::ftruncate(file, 4096) != 0) std::abort();
    value_ = static_cast<std::uint64_t*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    ::close(file);
  }
  ~SharedCount() { ::munmap(value_, 4096); }
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;

  void add() { std::atomic_ref(*value_).fetch_add(1); }
  [[nodiscard]] std::uint64_t get() { return std::atomic_ref(*value_).load(); }

 private:
  std::uint64_t* value_;
};

/// The number of commits of other processes before each of ours.
std::vector<std::uint64_t> commits_waited_for(int saturating, std::size_t starts) {
  const TempDir dir;
  const std::string path = dir.file("t.db");
  SharedCount commits{dir.file("count")};
  const auto provider = open_at(path);
  std::deque<ChildProcess> others;
  for (int i = 0; i < saturating; ++i) {
    others.emplace_back(
        std::vector<std::string>{"--task", "saturate", path, dir.file("count"), std::to_string(i)});
  }
  for (auto& other : others) EXPECT_EQ(other.read_line(), "begun");
  std::vector<std::uint64_t> waits;
  std::vector<double> milliseconds;
  for (std::size_t i = 0; i < starts; ++i) {
    const std::uint64_t before = commits.get();
    const auto began = std::chrono::steady_clock::now();
    start(*provider, "one-" + std::to_string(i));
    milliseconds.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count());
    waits.push_back(commits.get() - before);
  }
  std::ranges::sort(waits);
  std::ranges::sort(milliseconds);
  std::printf(
      "load of %d: waited for %llu commits in the middle, %llu at p99, %llu at most; %.1f ms, %.1f ms, %.1f "
      "ms\n",
      saturating, static_cast<unsigned long long>(waits[waits.size() / 2]),
      static_cast<unsigned long long>(waits[waits.size() * 99 / 100]),
      static_cast<unsigned long long>(waits.back()), milliseconds[milliseconds.size() / 2],
      milliseconds[milliseconds.size() * 99 / 100], milliseconds.back());
  return waits;
}

/// The wait that nearly all of them stay below. With sanitizers there are too few for the 99th percentile.
std::uint64_t nearly_all(const std::vector<std::uint64_t>& waits) {
  return waits[waits.size() * (under_sanitizer ? 90 : 99) / 100];
}

TEST(Fairness, AWriterOfOneRowGetsItsTurnUnderTheLoadOfOneProcess) {
  const auto waits = commits_waited_for(1, amount("DURAMEN_FAIRNESS_STARTS", 300, 60));
  // The running commit, one admitted before we woke up, and one counted while the answer came. A busy machine
  // wakes us late, and more are counted. Without the side lock there would be a thousand.
  EXPECT_LE(nearly_all(waits), 40u);
}

TEST(Fairness, AWriterOfOneRowGetsItsTurnUnderTheLoadOfThreeProcesses) {
  const auto waits = commits_waited_for(3, amount("DURAMEN_FAIRNESS_STARTS", 300, 60));
  // A waiter at the turnstile wakes up with two others and wins a third of the rounds: one in a hundred loses
  // 12 rounds, and a busy machine is less fair. Without the side lock there would be a thousand.
  EXPECT_LE(nearly_all(waits), 40u);
}

}  // namespace

int saturate(const Arguments& arguments) {
  const auto provider = open_provider({.path = arguments.at(0)}).value();
  SharedCount commits{arguments.at(1)};
  std::uint64_t number = 0;
  std::vector<StartRequest> batch(50, start_request(""));
  for (bool begun = false;; begun = true) {
    for (StartRequest& request : batch) request.instance = arguments.at(2) + "-" + std::to_string(number++);
    provider->start_instances(batch).value();
    commits.add();
    if (begun) continue;
    std::printf("begun\n");
    std::fflush(stdout);
  }
}

}  // namespace duramen::sqlite::test
