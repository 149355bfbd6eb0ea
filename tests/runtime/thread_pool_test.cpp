// Threads that leave are joined, and a system that refuses a thread ends no process.
#include "runtime/clocked_world.hpp"
#include "runtime/threaded_env.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <latch>
#include <pthread.h>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DURAMEN_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DURAMEN_SANITIZED 1
#endif
#endif

namespace duramen::test {
namespace {

/// While it lives, the system grants this process only a few more threads. Each is given a stack so large
/// that the address space ends with the last of them.
class FewThreads {
 public:
  explicit FewThreads(std::size_t granted) {
    pthread_getattr_default_np(&before_);
    pthread_attr_t large;
    pthread_getattr_default_np(&large);
    pthread_attr_setstacksize(&large, stack);
    pthread_setattr_default_np(&large);
    pthread_attr_destroy(&large);
    getrlimit(RLIMIT_AS, &limit_);
    rlimit low = limit_;
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    low.rlim_cur = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + granted * stack + stack / 2;
    setrlimit(RLIMIT_AS, &low);
  }
  ~FewThreads() {
    setrlimit(RLIMIT_AS, &limit_);
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;

 private:
  static constexpr std::size_t stack = std::size_t{1} << 30u;
  pthread_attr_t before_{};
  rlimit limit_{};
};

std::size_t threads_now() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST(ThreadPool, JoinsThreadsThatLeave) {
  runtime::ThreadPool pool(2, "test");
  const std::size_t before = threads_now();
  for (int i = 0; i < 10; ++i) {
    pool.grow();
    pool.shrink();
    // A thread must have left before the next one comes: else the pool just keeps it.
    for (int j = 0; j < 2000 && threads_now() > before; ++j) std::this_thread::sleep_for(1ms);
    ASSERT_LE(threads_now(), before);
  }
  // The two, one that may not have left yet or waits to be joined, and one that joins it.
  const auto bounded = [&] { return pool.unjoined() <= 4; };
  for (int i = 0; i < 2000 && !bounded(); ++i) std::this_thread::sleep_for(1ms);
  EXPECT_LE(pool.unjoined(), 4u);
}

TEST(ThreadedEnv, QueuedStopNoticesAreDeliveredWhenTheThreadsEnd) {
  const testing::ManualClock clock;
  runtime::ThreadedEnv env(clock, 1);
  std::latch begun(3);
  std::atomic<bool> ends{false};
  std::atomic<int> notified{0};
  // Both threads of the lane are kept until the lane takes no more: then it drops what it is given.
  for (int i = 0; i < 2; ++i) {
    env.run_elsewhere(Lane::cancellation, [&] {
      begun.arrive_and_wait();
      while (!ends) {
        const auto job = std::make_shared<int>();
        env.run_elsewhere(Lane::cancellation, [job] {});
        if (job.use_count() == 1) ends = true;
        std::this_thread::sleep_for(1ms);
      }
    });
  }
  begun.arrive_and_wait();
  env.run_elsewhere(Lane::cancellation, [&] { ++notified; });
  env.stop();
  EXPECT_EQ(notified, 1);
}

class Refused : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef DURAMEN_SANITIZED
    GTEST_SKIP() << "the sanitizer itself needs the address space";
#endif
  }
};

TEST_F(Refused, APoolWhoseThreadsAreRefusedContinuesWithFewer) {
  runtime::ThreadPool pool(1, "test");
  Signal<bool> stuck;
  Signal<bool> go_on;
  pool.post([&] {
    stuck.set(true);
    (void)go_on.wait();
  });
  ASSERT_TRUE(stuck.wait());
  std::atomic<int> ran{0};
  {
    const FewThreads few(0);
    EXPECT_FALSE(pool.grow());
    pool.post([&] { ++ran; });
  }
  EXPECT_EQ(ran, 0);
  // The next work asks again.
  Signal<bool> second;
  pool.post([&] {
    ++ran;
    second.set(true);
  });
  ASSERT_TRUE(second.wait());
  EXPECT_EQ(ran, 2);
  pool.shrink();
  go_on.set(true);
}

TEST_F(Refused, ARuntimeWhoseThreadsAreRefusedThrowsAndLeavesNoneBehind) {
  ClockedWorld world;
  world.registry.add("nothing", [](OrchestrationContext&, int) -> Task<int> { co_return 0; });
  const std::size_t before = threads_now();
  RuntimeOptions options;
  options.activity_threads = 8;
  std::string message;
  {
    const FewThreads few(6);  // four for the loops: among the eight one is refused
    try {
      world.run(options);
    } catch (const std::system_error& error) {
      message = error.what();
    }
  }
  EXPECT_NE(message.find("raise the process's limit"), std::string::npos) << message;
  // The system lists a thread for a moment after it was joined.
  world.until([&] { return threads_now() <= before; });
  world.run(options);
  EXPECT_EQ(world.finish("n", "nothing", 0).status, Status::completed);
}

TEST_F(Refused, AnAbandonedFunctionWhoseThreadCannotBeReplacedEndsNothing) {
  ClockedWorld world;
  Signal<bool> begun;
  Signal<bool> go_on;
  world.registry.add("Deaf", [&](ActivityContext&, int value) {
    begun.set(true);
    (void)go_on.wait();
    return value;
  });
  world.registry.add("Quick", [](ActivityContext&, int value) { return value; });
  world.registry.add("call", [](OrchestrationContext& ctx, std::string activity) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>(activity, 1);
  });
  std::atomic<int> refusals{0};
  RuntimeOptions options;
  options.activity_threads = 1;
  options.log = [&](const LogRecord& record) {
    // Not that for a stop callback, which is slow if the clock moves while it runs.
    if (record.message.find("refuses another thread for activities") != std::string_view::npos) ++refusals;
  };
  Runtime& runtime = world.run(options);
  world.client.start("deaf", "call", "Deaf").value();
  ASSERT_TRUE(begun.wait());
  {
    const FewThreads few(0);
    world.client.cancel("deaf", "enough").value();
    // The thread is asked for after the activity is abandoned.
    world.until([&] { return refusals == 1; }, [&] { world.clock.advance(1s); });
  }
  EXPECT_EQ(runtime.abandoned_activities(), 1u);
  EXPECT_EQ(world.finish("quick", "call", "Quick").output_as<int>(), 1);
  go_on.set(true);
  world.until([&] { return runtime.abandoned_activities() == 0; });
  EXPECT_EQ(world.finish("again", "call", "Quick").output_as<int>(), 1);
}

/// Mappings as large as a stack: a thread that has ended keeps its own until it is joined.
std::size_t stacks_now() {
  std::ifstream maps("/proc/self/maps");
  std::size_t stacks = 0;
  for (std::string line; std::getline(maps, line);) {
    std::size_t dash = 0;
    const std::uint64_t from = std::stoull(line, &dash, 16);
    const std::uint64_t size = std::stoull(line.substr(dash + 1), nullptr, 16) - from;
    if (line.find("rw-p") != std::string::npos && size > (7u << 20u) && size <= (8u << 20u)) ++stacks;
  }
  return stacks;
}

TEST(Abandoned, FunctionsThatReturnLeaveNoThreadBehind) {
#ifdef DURAMEN_SANITIZED
  GTEST_SKIP() << "the sanitizer maps memory of its own";
#endif
  ClockedWorld world;
  constexpr int rounds = 20;
  std::atomic<int> begun{0};
  std::atomic<int> go_on{0};
  world.registry.add("Deaf", [&](ActivityContext&, int round) {
    begun = round;
    while (go_on < round) std::this_thread::sleep_for(1ms);
    return round;
  });
  world.registry.add("call", [](OrchestrationContext& ctx, int round) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Deaf", round);
  });
  RuntimeOptions options;
  options.activity_threads = 1;
  Runtime& runtime = world.run(options);
  const std::size_t before = stacks_now();
  for (int round = 1; round <= rounds; ++round) {
    const std::string id = std::to_string(round);
    world.client.start(id, "call", round).value();
    world.until([&] { return begun == round; });
    world.client.cancel(id, "enough").value();
    world.until([&] { return runtime.abandoned_activities() == 1; },
                [&] { world.clock.advance(options.cancel_grace); });
    go_on = round;
    world.until([&] { return runtime.abandoned_activities() == 0; });
  }
  // The C library keeps a few for the next threads.
  EXPECT_LT(stacks_now(), before + rounds / 2);
}

}  // namespace
}  // namespace duramen::test
