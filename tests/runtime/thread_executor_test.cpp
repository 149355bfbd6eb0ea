#include "base/thread_executor.hpp"

#include "support/signal.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace duramen::test {
namespace {

using namespace std::chrono_literals;

TEST(ThreadExecutor, RunsJobsInTheOrderInWhichTheyWerePosted) {
  ThreadExecutor executor{system_clock(), "test"};
  std::vector<int> seen;
  Signal<bool> done;
  for (int i = 0; i < 1000; ++i) executor.post([&seen, i] { seen.push_back(i); });
  executor.post([&done] { done.set(true); });
  ASSERT_TRUE(done.wait());
  ASSERT_EQ(seen.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
}

TEST(ThreadExecutor, RunsUrgentJobsInOrderBeforeQueuedOnes) {
  ThreadExecutor executor{system_clock(), "test"};
  std::vector<std::string> seen;
  const auto note = [&seen](std::string what) { return [&seen, what] { seen.push_back(what); }; };
  Signal<bool> begun;
  Signal<bool> queued;
  Signal<bool> done;
  executor.post([&] {
    begun.set(true);
    ASSERT_TRUE(queued.wait());
  });
  ASSERT_TRUE(begun.wait());
  executor.post([&] {
    seen.push_back("a");
    executor.post_first(note("said in a"));  // the rest of the queue waits as well
  });
  executor.post(note("b"));
  executor.post_first(note("first"));
  executor.post_first(note("second"));
  executor.post([&done] { done.set(true); });
  queued.set(true);
  ASSERT_TRUE(done.wait());
  EXPECT_EQ(seen, (std::vector<std::string>{"first", "second", "a", "said in a", "b"}));
}

TEST(ThreadExecutor, RunsTimersInTheOrderOfTheirTimes) {
  ThreadExecutor executor{system_clock(), "test"};
  std::vector<int> seen;
  Signal<bool> done;
  const LeaseTime now = system_clock().lease_now();
  executor.post_at(now + 30ms, [&] {
    seen.push_back(3);
    done.set(true);
  });
  executor.post_at(now + 10ms, [&] { seen.push_back(1); });
  executor.post_at(now + 20ms, [&] { seen.push_back(2); });
  ASSERT_TRUE(done.wait());
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 3}));
}

/// The machine's, and how often it was asked.
class CountingClock final : public Clock {
 public:
  mutable std::atomic<int> asked{0};
  [[nodiscard]] TimePoint now() const override { return system_clock().now(); }
  [[nodiscard]] LeaseTime lease_now() const override {
    ++asked;
    return system_clock().lease_now();
  }
};

TEST(ThreadExecutor, SleepsUntilATimerInAThousandYears) {
  const CountingClock clock;
  ThreadExecutor executor{clock, "test"};
  executor.post_at(system_clock().lease_now() + std::chrono::hours{24 * 365 * 1000}, [] {});
  std::this_thread::sleep_for(20ms);  // for one that does not sleep, long enough to ask very often
  EXPECT_LT(clock.asked, 50);
}

TEST(ThreadExecutor, StopRunsQueuedJobsAndDropsTimers) {
  bool ran = false;
  bool timer = false;
  {
    ThreadExecutor executor{system_clock(), "test"};
    executor.post_at(system_clock().lease_now() + 1h, [&] { timer = true; });
    executor.post([&] { ran = true; });
    executor.stop();
    executor.post([&] { timer = true; });
  }
  EXPECT_TRUE(ran);
  EXPECT_FALSE(timer);
}

}  // namespace
}  // namespace duramen::test
