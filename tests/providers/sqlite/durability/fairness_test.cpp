// A process that writes all the time does not keep out one that writes now and then.
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

/// How many commits of the others came before each of ours.
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
      "beside %d: waited for %llu commits in the middle, %llu at p99, %llu at most; %.1f ms, %.1f ms, %.1f "
      "ms\n",
      saturating, static_cast<unsigned long long>(waits[waits.size() / 2]),
      static_cast<unsigned long long>(waits[waits.size() * 99 / 100]),
      static_cast<unsigned long long>(waits.back()), milliseconds[milliseconds.size() / 2],
      milliseconds[milliseconds.size() * 99 / 100], milliseconds.back());
  return waits;
}

/// What all but a few of them waited for at most. With sanitizers there are too few of them for one in a
/// hundred.
std::uint64_t nearly_all(const std::vector<std::uint64_t>& waits) {
  return waits[waits.size() * (under_sanitizer ? 90 : 99) / 100];
}

TEST(Fairness, AWriterOfOneRowGetsItsTurnUnderTheLoadOfOneProcess) {
  const auto waits = commits_waited_for(1, amount("DURAMEN_FAIRNESS_STARTS", 300, 60));
  // The commit under way; one that was let in before we had been woken; one counted while the answer came. On
  // a busy machine we are woken late, and more are counted. Without the side lock there would be a thousand.
  EXPECT_LE(nearly_all(waits), 40u);
}

TEST(Fairness, AWriterOfOneRowGetsItsTurnUnderTheLoadOfThreeProcesses) {
  const auto waits = commits_waited_for(3, amount("DURAMEN_FAIRNESS_STARTS", 300, 60));
  // Whoever waits at the turnstile is woken with two others and is first in a third of all cases: 12 lost
  // rounds are one in a hundred, and a busy machine is no fair lottery. Without the side lock there would be
  // a thousand.
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
