// Coroutine activities that wait in awaitables of the user's: resumed on any thread, at any time, also after
// the Runtime.
#include "runtime/world.hpp"
#include <duramen/forwarding_provider.hpp>

#include <atomic>
#include <coroutine>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>

namespace duramen::test {
namespace {

/// Stands for the user's own I/O: coroutines wait here until a test resumes them.
class Elsewhere {
 public:
  class Awaiter {
   public:
    explicit Awaiter(Elsewhere& at) noexcept : at_(at) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
      Elsewhere& at = at_;  // as soon as it is in the list, the frame may be gone
      std::lock_guard lock(at.mutex_);
      at.waiting_.push_back(handle);
      at.count_ = at.waiting_.size();
    }
    void await_resume() const noexcept {}

   private:
    Elsewhere& at_;
  };
  Awaiter operator co_await() noexcept { return Awaiter(*this); }

  [[nodiscard]] std::size_t waiting() const noexcept { return count_; }
  /// On the calling thread.
  std::size_t resume_all() {
    std::vector<std::coroutine_handle<>> all;
    {
      std::lock_guard lock(mutex_);
      all.swap(waiting_);
      count_ = 0;
    }
    for (const std::coroutine_handle<> handle : all) handle.resume();
    return all.size();
  }

 private:
  std::mutex mutex_;
  std::vector<std::coroutine_handle<>> waiting_;
  std::atomic<std::size_t> count_{0};
};

/// A thread of the user's that resumes whatever waits, until it is stopped.
class IoThread {
 public:
  explicit IoThread(Elsewhere& elsewhere)
      : thread_([&elsewhere](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            if (elsewhere.resume_all() == 0) std::this_thread::yield();
          }
          elsewhere.resume_all();
        }) {}

 private:
  std::jthread thread_;
};

/// Counts what is alive.
class Alive {
 public:
  explicit Alive(std::atomic<int>& count) : count_(count) { ++count_; }
  ~Alive() { --count_; }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;

 private:
  std::atomic<int>& count_;
};

void wait_until(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + forever;
  while (!holds()) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "it never came to be";
    std::this_thread::yield();
  }
}

class CoroutineLifetime : public ::testing::Test {
 protected:
  CoroutineLifetime() {
    options.cancel_grace = Duration{0};
    options.max_abandoned = 10'000;
    options.log = [this](const LogRecord& record) {
      if (ended) ++lines_after_the_end;
      if (record.source == LogSource::activity) ++traced;
      if (record.message.find("coroutine activities outlive the runtime") == std::string_view::npos) return;
      std::lock_guard lock(mutex);
      left_behind.emplace_back(record.message);
    };
    world->registry.add("all", [](OrchestrationContext& ctx, int count) -> Task<int> {
      std::vector<DurableFuture<int>> futures;
      for (int i = 0; i < count; ++i) futures.push_back(ctx.schedule_activity<int>("Work", i));
      int sum = 0;
      for (int value : co_await ctx.join(std::move(futures))) sum += value;
      co_return sum;
    });
  }
  /// Ends the runtime and the store, and everything else that the runtime knew.
  void end_the_world() {
    world->runtimes.at(0)->shutdown(Duration{0});
    world.reset();
    ended = true;
  }
  std::optional<World> world{std::in_place};
  RuntimeOptions options;
  Elsewhere elsewhere;
  std::atomic<int> alive{0};
  std::atomic<bool> ended{false};
  std::atomic<int> traced{0};
  std::atomic<int> lines_after_the_end{0};
  std::mutex mutex;
  std::vector<std::string> left_behind;
};

// The end of the coroutine gave its frame to the activity thread, and then read from it.
TEST_F(CoroutineLifetime, ACoroutineMayEndOnAThreadOfTheUser) {
  world->registry.add("Work", [this](ActivityContext&, int value) -> ActivityTask<int> {
    co_await elsewhere;
    co_return value;
  });
  world->run(options);
  const IoThread io(elsewhere);
  EXPECT_EQ(world->finish("a", "all", 500).output_as<int>(), 500 * 499 / 2);
}

// ~Runtime destroyed these frames, and the user's code resumed them after that.
TEST_F(CoroutineLifetime, AFrameThatWaitsInTheUsersCodeOutlivesTheRuntimeAndMayUseItsContext) {
  constexpr int count = 1000;
  std::atomic<int> told{0};
  std::atomic<int> returned{0};
  NodeId node;
  world->registry.add("Work", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    const Alive here(alive);
    const std::stop_callback stopped(ctx.stop_token(), [&told] { ++told; });
    const auto inner = [](Elsewhere& at, std::atomic<int>& living) -> ActivityTask<int> {
      const Alive inside(living);
      co_await at;
      co_return 1;
    };
    if (value % 2 == 0) {
      co_await elsewhere;
    } else {
      co_await inner(elsewhere, alive);
    }
    const bool knows = ctx.is_cancelled() && ctx.stop_token().stop_requested();
    const bool rested = co_await ctx.sleep(1h);
    co_await ctx.cancelled();
    ctx.trace_info("late");
    ctx.heartbeat();
    ctx.heartbeat(value);
    if (knows && !rested && !ctx.wait_for(1h) && ctx.node() == node &&
        ctx.stop_cause() == StopCause::shutdown && ctx.activity_name() == "Work") {
      ++returned;
    }
    if (value % 3 == 0) throw std::runtime_error("late, too");
    co_return value;
  });
  node = world->run(options).node();
  world->client.start("a", "all", count).value();
  wait_until([&] { return elsewhere.waiting() == count; });
  end_the_world();
  ASSERT_EQ(alive, count + count / 2) << "the frames are gone";
  EXPECT_EQ(told, count);
  ASSERT_EQ(left_behind.size(), 1u);
  EXPECT_NE(left_behind[0].find(": 1000 (Work)"), std::string::npos) << left_behind[0];

  EXPECT_EQ(elsewhere.resume_all(), 1000u);
  EXPECT_EQ(returned, count);
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(lines_after_the_end, 0);
}

// Its lease was no longer renewed, and no node could run it before the lease was over.
TEST_F(CoroutineLifetime, AnActivityThatOutlivesTheRuntimeIsReleased) {
  std::atomic<bool> first_time{true};
  std::atomic<std::uint32_t> second_attempt{0};
  world->registry.add("Work", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    if (first_time.exchange(false)) {
      ctx.heartbeat(value);
      co_await elsewhere;
    }
    second_attempt = ctx.attempt();
    co_return ctx.heartbeat_details<int>().value_or(-1) + 7;
  });
  world->run(options);
  world->client.start("a", "all", 1).value();
  wait_until([&] { return elsewhere.waiting() == 1; });
  world->runtimes.at(0)->shutdown(Duration{0});
  const QueueDepths depths = world->client.queue_depths().value();
  EXPECT_EQ(depths.worker_leased, 0u);
  ASSERT_EQ(depths.worker_due, 1u);

  world->run(options);
  EXPECT_EQ(world->client.wait("a", forever).value().output_as<int>(), 7);
  EXPECT_EQ(second_attempt, 1u);
  elsewhere.resume_all();
}

/// Notes whether a release came while `function_runs`.
class NotesReleases final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::atomic<bool> function_runs{true};
  std::atomic<int> early{0};
  std::atomic<int> late{0};

  Result<void> release_activities(std::span<const ActivityRelease> releases) override {
    (function_runs ? early : late) += static_cast<int>(releases.size());
    return ForwardingProvider::release_activities(releases);
  }
};

// It may be running on a thread of the user's: another node began it meanwhile.
TEST_F(CoroutineLifetime, AnAbandonedActivityKeepsItsLeaseWhileTheShutdownWaitsForAnother) {
  auto provider = std::make_shared<NotesReleases>(std::make_shared<testing::MemoryProvider>(system_clock()));
  Registry registry;
  Signal<bool> begun;
  Signal<bool> go_on;
  registry.add("Wait", [&](ActivityContext&) -> ActivityTask<int> {
    co_await elsewhere;
    co_return 1;
  });
  registry.add("Block", [&](ActivityContext&) {
    begun.set(true);
    (void)go_on.wait();
    provider->function_runs = false;
    return 2;
  });
  registry.add("both", [](OrchestrationContext& ctx) -> Task<int> {
    auto wait = ctx.schedule_activity<int>("Wait");
    auto block = ctx.schedule_activity<int>("Block");
    auto [a, b] = co_await ctx.join2(std::move(wait), std::move(block));
    co_return a + b;
  });
  const Store store{provider};
  Runtime runtime(store, registry, options);
  Client client(store);
  client.start("a", "both").value();
  wait_until([&] { return elsewhere.waiting() == 1; });
  ASSERT_TRUE(begun.wait());
  std::jthread shutting([&] { runtime.shutdown(Duration{0}); });
  wait_until([&] { return runtime.abandoned_activities() == 1; });
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(client.queue_depths().value().worker_leased, 2u);
  go_on.set(true);
  shutting.join();
  EXPECT_EQ(provider->early, 0);
  EXPECT_EQ(provider->late, 2);
  EXPECT_EQ(client.queue_depths().value().worker_due, 2u);
  elsewhere.resume_all();
}

TEST_F(CoroutineLifetime, ACoroutineThatStillSleepsAfterTheRuntimeIsDestroyed) {
  std::atomic<int> cut_short{0};
  world->registry.add("Work", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    const auto inner = [](ActivityContext& context, Elsewhere& at, std::atomic<int>& count,
                          std::atomic<int>& living) -> ActivityTask<void> {
      const Alive inside(living);
      co_await at;
      while (true) {
        if (!co_await context.sleep(1h)) ++count;
      }
    };
    const Alive here(alive);
    co_await inner(ctx, elsewhere, cut_short, alive);
    co_return value;
  });
  world->run(options);
  world->client.start("a", "all", 3).value();
  wait_until([&] { return elsewhere.waiting() == 3; });
  end_the_world();
  EXPECT_EQ(alive, 6);
  elsewhere.resume_all();
  EXPECT_EQ(cut_short, 3);
  EXPECT_EQ(alive, 0);
}

TEST_F(CoroutineLifetime, ADestructorMayUseTheContextWhenTheEndOfTheRuntimeDestroysTheFrame) {
  class Farewell {
   public:
    Farewell(ActivityContext& ctx, std::atomic<int>& count) : ctx_(ctx), count_(count) {}
    ~Farewell() {
      ctx_.trace_info("farewell");
      ctx_.heartbeat();
      if (!ctx_.wait_for(1h)) ++count_;
    }
    Farewell(const Farewell&) = delete;
    Farewell& operator=(const Farewell&) = delete;

   private:
    ActivityContext& ctx_;
    std::atomic<int>& count_;
  };
  std::atomic<int> farewells{0};
  std::atomic<int> asleep{0};
  world->registry.add("Work", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    const Farewell farewell(ctx, farewells);
    co_await elsewhere;  // here it is abandoned
    co_await ctx.cancelled();
    ++asleep;
    co_await ctx.sleep(1h);
    co_return value;
  });
  Runtime& runtime = world->run(options);
  world->client.start("a", "all", 1).value();
  wait_until([&] { return elsewhere.waiting() == 1; });
  world->client.cancel("a", "enough").value();
  wait_until([&] { return runtime.abandoned_activities() == 1; });
  elsewhere.resume_all();
  wait_until([&] { return asleep == 1; });
  end_the_world();
  EXPECT_EQ(farewells, 1);
  EXPECT_EQ(traced, 0);
  EXPECT_TRUE(left_behind.empty());
}

TEST_F(CoroutineLifetime, AStopCallbackMayResumeTheCoroutineWhereItIsCalled) {
  world->registry.add("Work", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    const Alive here(alive);
    co_await elsewhere;
    {
      const std::stop_callback stopped(ctx.stop_token(), [this] { elsewhere.resume_all(); });
      co_await elsewhere;
    }
    co_await ctx.sleep(1h);
    co_return value;
  });
  world->run(options);
  world->client.start("a", "all", 1).value();
  wait_until([&] { return elsewhere.waiting() == 1; });
  elsewhere.resume_all();
  end_the_world();
  elsewhere.resume_all();
  EXPECT_EQ(alive, 0);
}

TEST_F(CoroutineLifetime, TheRuntimeMayEndWhileCoroutinesRunSleepAndEndOnOtherThreads) {
  options.log = [this](const LogRecord&) {
    if (ended) ++lines_after_the_end;
  };
  for (int round = 0; round < 20; ++round) {
    World brief;
    brief.registry = world->registry;
    brief.registry.add("Work", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
      const Alive here(alive);
      for (int i = 0; i <= value; ++i) {
        co_await elsewhere;
        ctx.trace_info("here");
        ctx.heartbeat();
        co_await ctx.sleep(Duration{value % 2});
      }
      co_await elsewhere;
      co_return value;
    });
    ended = false;
    std::optional<IoThread> io(std::in_place, elsewhere);
    Runtime& runtime = brief.run(options);
    brief.client.start("a", "all", 40).value();
    wait_until([&] { return alive > 0; });
    runtime.shutdown(Duration{0});
    ended = true;
    wait_until([&] { return alive == 0; });
    io.reset();
    EXPECT_EQ(lines_after_the_end, 0);
  }
}

}  // namespace
}  // namespace duramen::test
