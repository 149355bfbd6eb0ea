// A store that fails for a while, loses an answer, or cannot read its own rows, and the effect on the
// instances.
#include "runtime/clocked_world.hpp"
#include <duramen/testing/forwarding_provider.hpp>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

namespace duramen::test {
namespace {

/// Fails the calls that a test selects, and counts.
class Troubled final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;

  std::atomic<bool> down{false};         ///< every call fails, for now
  std::atomic<int> lose_commits{0};      ///< this many commits are stored, but their answers are lost
  std::atomic<int> refuse_acks{0};       ///< this many ends of activities fail, for now
  std::atomic<int> refuse_commits{0};    ///< this many commits fail for good
  std::atomic<bool> refuse_held{false};  ///< every commit under a lease fails, for now
  std::atomic<int> failed{0};            ///< calls that failed because the store was down
  std::atomic<int> renewals{0};          ///< calls that renew leases, after the fact
  std::atomic<int> history_reads{0};
  std::atomic<int> reads{0};        ///< calls that change nothing
  std::string unreadable_history;   ///< of this instance; set before anything runs
  std::string unreadable_messages;  ///< of this one; the same
  std::string unreadable_activity;  ///< of this instance: its activities; the same

  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    if (refuse_commits > 0 && refuse_commits-- > 0) {
      return Error{ErrorCode::internal, "commit_turns", "a constraint does not hold", false};
    }
    if (refuse_held && std::ranges::any_of(commits, [](const TurnCommit& commit) {
          return std::holds_alternative<HeldLease>(commit.basis);
        })) {
      return Error{ErrorCode::busy, "commit_turns", "no memory", true};
    }
    auto answer = ForwardingProvider::commit_turns(commits, preempt);
    if (lose_commits > 0 && lose_commits-- > 0) {
      return Error{ErrorCode::unavailable, "commit_turns", "no answer", true};
    }
    return answer;
  }
  Result<std::vector<AckResult>> ack_activities(std::span<const ActivityAck> acks) override {
    if (refuse_acks > 0 && refuse_acks-- > 0) {
      return Error{ErrorCode::busy, "ack_activities", "locked", true};
    }
    return ForwardingProvider::ack_activities(acks);
  }
  Result<std::vector<RenewResult>> renew_activities(std::span<const ActivityRenewal> renewals_due,
                                                    Duration lease) override {
    auto answer = ForwardingProvider::renew_activities(renewals_due, lease);
    ++renewals;
    return answer;
  }
  Result<std::vector<Event>> read_history(const InstanceId& instance, ExecutionId execution,
                                          EventId after) override {
    ++history_reads;
    if (instance.value == unreadable_history) {
      return Error{ErrorCode::corrupt, "read_history", "not an event", false};
    }
    return ForwardingProvider::read_history(instance, execution, after);
  }
  Result<TurnBatch> fetch_turns(const TurnFetch& request) override {
    auto answer = ForwardingProvider::fetch_turns(request);
    for (std::size_t i = 0; answer && i < answer->items.size(); ++i) {
      LeasedInstance& item = answer->items[i];
      const bool first = !item.last_event_id;
      if (item.instance.value == unreadable_messages && !first) {
        item.messages.clear();
        item.unreadable = "not JSON";
      }
    }
    return answer;
  }
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    auto answer = ForwardingProvider::fetch_activities(request);
    for (std::size_t i = 0; answer && i < answer->items.size(); ++i) {
      LeasedActivity& item = answer->items[i];
      if (item.request.instance.value == unreadable_activity) item.unreadable = "not JSON";
    }
    return answer;
  }

 protected:
  std::optional<Error> before(ProviderCall& call) override {
    if (!call.changes) ++reads;
    if (!down) return std::nullopt;
    ++failed;
    return Error{ErrorCode::unavailable, std::string(call.operation), "the disk is on fire", true};
  }
};

class StoreTrouble : public ::testing::Test {
 protected:
  StoreTrouble()
      : world([this](std::shared_ptr<Provider> inner) {
          auto wrapped = std::make_shared<Troubled>(std::move(inner));
          store = wrapped.get();
          return wrapped;
        }) {
    world.registry.add("Increment", [this](ActivityContext&, int value) {
      ++runs;
      return value + 1;
    });
    world.registry.add("count_to", [](OrchestrationContext& ctx, int target) -> Task<int> {
      int value = 0;
      while (value < target) value = co_await ctx.schedule_activity<int>("Increment", value);
      co_return value;
    });
    world.registry.add("wait", [](OrchestrationContext& ctx) -> Task<int> {
      co_return co_await ctx.schedule_wait<int>("go");
    });
    world.registry.add("family", [](OrchestrationContext& ctx, std::string child) -> Task<std::string> {
      auto answer =
          co_await ctx.schedule_sub_orchestration<int>(child, 3, ChildOptions().id("child")).as_result();
      co_return answer ? "child: " + std::to_string(*answer) : "child failed: " + answer.error().type;
    });
  }
  void advance() { world.clock.advance(100ms); }
  InstanceState end_of(const InstanceId& instance) {
    return world.wait(instance, [this] { advance(); });
  }
  bool waits(const InstanceId& instance) {
    const auto info = world.provider->get_instance(instance).value();
    return info && info->status == Status::running;
  }

  Troubled* store = nullptr;
  std::atomic<int> runs{0};
  ClockedWorld world;
};

// -- for a while ------------------------------------------

TEST_F(StoreTrouble, AnOutageOfMinutesFailsNoOrchestration) {
  Signal<bool> begun;
  Signal<bool> go_on;
  world.registry.add("Slow", [&](ActivityContext&, int value) {
    begun.set(true);
    (void)go_on.wait();
    return value;
  });
  world.registry.add("slow", [](OrchestrationContext& ctx) -> Task<int> {
    const int value = co_await ctx.schedule_activity<int>("Slow", 20);
    co_return co_await ctx.schedule_activity<int>("Increment", value);
  });
  world.run();
  world.client.start("w", "wait").value();
  world.client.start("s", "slow").value();
  ASSERT_TRUE(begun.wait());
  world.until([&] { return waits("w"); });
  store->down = true;
  go_on.set(true);  // its end cannot be stored now
  // Ten minutes, and far more failures in a row than a doubled pause survives.
  int seconds = 0;
  world.until([&] { return store->failed > 200 && seconds > 600; },
              [&] {
                world.clock.advance(1s);
                ++seconds;
              });
  store->down = false;
  EXPECT_EQ(end_of("s").output_as<int>(), 21);
  world.client.raise_event("w", "go", 7).value();
  EXPECT_EQ(end_of("w").output_as<int>(), 7);
}

// Its lease is renewed all the time.
TEST_F(StoreTrouble, ATurnThatCanNeverBeStoredHoldsUpNeitherOthersNorAShutdown) {
  Runtime& runtime = world.run();
  world.client.start("w", "wait").value();
  world.until([&] { return waits("w"); });
  store->refuse_held = true;
  OutboundMessage go{"w", message::ExternalRaised{"go", Payload::json("7")}};
  world.provider->enqueue_messages({&go, 1}).value();
  world.clock.advance(5s);  // it is fetched, not delivered here
  std::atomic<bool> over{false};
  std::thread stopper([&] {
    runtime.shutdown(1s);
    over = true;
  });
  const auto wait_for_the_end = [&] {
    world.until([&] { return over.load(); }, [&] { world.clock.advance(1s); });
  };
  wait_for_the_end();
  store->refuse_held = false;  // so that a test that fails ends
  wait_for_the_end();
  stopper.join();
}

TEST_F(StoreTrouble, AChildWhoseTurnCannotBeStoredForAWhileStillAnswersItsParent) {
  world.run();
  world.client.start("p", "family", "count_to").value();
  world.until([&] { return world.provider->get_instance("child").value().has_value(); }, [&] { advance(); });
  store->down = true;
  const int before = store->failed;
  world.until([&] { return store->failed > before + 20; }, [&] { advance(); });
  store->down = false;
  EXPECT_EQ(end_of("p").output_as<std::string>(), "child: 3");
}

TEST_F(StoreTrouble, TheEndOfAnActivityIsSentAgainAndTheActivityRunsOnce) {
  Registry turns_only;
  turns_only.add("count_to", [](OrchestrationContext& ctx, int target) -> Task<int> {
    int value = 0;
    while (value < target) value = co_await ctx.schedule_activity<int>("Increment", value);
    co_return value;
  });
  Registry work_only;
  work_only.add("Increment", [this](ActivityContext&, int value) {
    ++runs;
    return value + 1;
  });
  RuntimeOptions options;
  options.activity_lease = 1h;  // it is not to run again because the clock was faster than the runtime
  options.session_idle = 1h;
  Runtime turns(world.store, turns_only, quiet());
  Runtime work(world.store, work_only, quiet(options));
  store->refuse_acks = 4;
  world.client.start("c", "count_to", 1).value();
  EXPECT_EQ(end_of("c").output_as<int>(), 1);
  EXPECT_EQ(store->refuse_acks, 0);
  EXPECT_EQ(runs, 1);
}

TEST_F(StoreTrouble, ACommitWhoseAnswerIsLostIsNotStoredTwice) {
  world.registry.add("go_and_count", [](OrchestrationContext& ctx) -> Task<int> {
    int value = co_await ctx.schedule_wait<int>("go");
    for (int i = 0; i < 5; ++i) value = co_await ctx.schedule_activity<int>("Increment", value);
    co_return value;
  });
  RuntimeOptions options;
  options.activity_lease = 1h;  // none is to run again because the clock was faster than the runtime
  options.session_idle = 1h;
  world.run(options);
  world.client.start("c", "go_and_count").value();
  world.until([&] { return waits("c"); });
  store->lose_commits = 3;
  world.client.raise_event("c", "go", 0).value();
  EXPECT_EQ(end_of("c").output_as<int>(), 5);
  EXPECT_EQ(event_types(world.client, "c").size(), 3u + 2u * 5u + 1u);
  EXPECT_EQ(store->lose_commits, 0);
  EXPECT_EQ(runs, 5);
}

TEST_F(StoreTrouble, ATurnThatFailsForGoodRunsAgainAndFailsNoInstance) {
  world.run();
  world.client.start("w", "wait").value();
  world.until([&] { return waits("w"); });
  store->refuse_commits = 1;
  world.client.raise_event("w", "go", 7).value();
  EXPECT_EQ(end_of("w").output_as<int>(), 7);
  EXPECT_EQ(store->refuse_commits, 0);
}

// -- rows that cannot be read ------------------------------------------

TEST_F(StoreTrouble, AChildWithAnUnreadableHistoryFailsAndAnswersItsParent) {
  store->unreadable_history = "child";
  Signal<CancelReason> told;
  world.registry.add("Wait", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    co_await ctx.cancelled();
    if (const auto reason = ctx.cancel_reason()) told.set(*reason);
    co_return value;
  });
  world.registry.add("stuck", [](OrchestrationContext& ctx, int) -> Task<int> {
    auto slow = ctx.schedule_activity<int>("Wait", 1).start();
    co_await ctx.schedule_wait<int>("go");
    co_return co_await std::move(slow);
  });
  RuntimeOptions options;
  options.max_attempts = 3;
  options.max_resident_instances = 1;  // so that its history is needed
  world.run(options);
  world.client.start("p", "family", "stuck").value();
  world.until([&] { return waits("child"); });
  world.client.start("other", "wait").value();
  world.until([&] { return waits("other"); });
  world.client.raise_event("child", "go", 1).value();
  EXPECT_EQ(end_of("p").output_as<std::string>(), "child failed: UnreadableHistory");
  // The same event id as any other would have, and nothing of it left running.
  const auto child = world.provider->get_instance("child").value();
  EXPECT_EQ(child->status, Status::failed);
  EXPECT_EQ(child->failure->kind, FailureKind::poison);
  EXPECT_EQ(child->last_event_id, EventId{4});
  EXPECT_EQ(told.wait(), CancelReason::poison);
}

TEST_F(StoreTrouble, AnUnreadableMessageIsNotDroppedSilently) {
  store->unreadable_messages = "w";
  std::atomic<int> errors{0};
  RuntimeOptions options;
  options.max_attempts = 2;
  options.log = [&](const LogRecord& record) {
    if (record.level == LogLevel::error) ++errors;
  };
  world.run(options);
  world.client.start("w", "wait").value();
  world.until([&] { return waits("w"); });
  world.client.raise_event("w", "go", 1).value();
  const InstanceState state = end_of("w");
  EXPECT_EQ(state.status, Status::failed);
  EXPECT_EQ(state.failure->type, "UnreadableMessage");
  EXPECT_GE(errors, 2);
}

TEST_F(StoreTrouble, AnUnreadableActivityFailsAndEndsNoWorker) {
  store->unreadable_activity = "bad";
  world.registry.add("call", [](OrchestrationContext& ctx) -> Task<std::string> {
    auto result = co_await ctx.schedule_activity<int>("Increment", 1).as_result();
    co_return result ? "worked" : result.error().type;
  });
  Registry turns_only;
  turns_only.add("call", [](OrchestrationContext& ctx) -> Task<std::string> {
    auto result = co_await ctx.schedule_activity<int>("Increment", 1).as_result();
    co_return result ? "worked" : result.error().type;
  });
  Runtime turns(world.store, turns_only, quiet());
  Registry work_only;
  work_only.add("Increment", [](ActivityContext&, int value) { return value + 1; });
  RuntimeOptions one;
  one.max_activities = 1;
  Runtime work(world.store, work_only, quiet(one));
  for (const char* id : {"bad", "good"}) world.client.start(id, "call").value();
  EXPECT_EQ(end_of("bad").output_as<std::string>(), "UnreadableActivity");
  EXPECT_EQ(end_of("good").output_as<std::string>(), "worked");
}

// -- what is not asked for ------------------------------------------

TEST_F(StoreTrouble, ResidentInstancesReadNoHistory) {
  world.run();
  EXPECT_EQ(world.finish("c", "count_to", 50).output_as<int>(), 50);
  EXPECT_EQ(store->history_reads, 0);
}

TEST_F(StoreTrouble, AStatusOrAWaitReadsNoHistoryAndDoesNotPoll) {
  world.run();
  world.client.start("w", "wait").value();
  world.until([&] { return waits("w"); });
  EXPECT_EQ(world.client.get_instance("w").value().status, Status::running);
  std::atomic<int> told{0};
  world.client.wait_async("w", [&](const Result<InstanceState>& state) {
    if (state && state->output_as<int>() == 5) ++told;
  });
  const int before = store->reads;
  world.client.raise_event("w", "go", 5).value();
  world.until([&] { return told == 1; });
  EXPECT_LE(store->reads - before, 2);  // one read of the instance, no polling
  EXPECT_EQ(store->history_reads, 0);
}

// -- leases ------------------------------------------

TEST_F(StoreTrouble, AShortLeaseIsRenewedInTime) {
  Signal<bool> begun;
  Signal<bool> go_on;
  std::atomic<int> attempts{0};
  world.registry.add("Long", [&](ActivityContext&, int value) {
    ++attempts;
    begun.set(true);
    (void)go_on.wait();
    return value;
  });
  world.registry.add("long", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Long", 3);
  });
  RuntimeOptions options;
  options.activity_lease = 1s;
  world.run(options);
  world.client.start("l", "long").value();
  ASSERT_TRUE(begun.wait());
  // Three times as long as the lease. Time stands still while the runtime renews.
  for (int i = 0; i < 9; ++i) {
    const int before = store->renewals;
    world.clock.advance(334ms);
    world.until([&] { return store->renewals > before; });
  }
  ActivityFetch thief;
  thief.node = "thief";
  thief.lease = 1s;
  EXPECT_TRUE(world.provider->fetch_activities(thief).value().items.empty());
  go_on.set(true);
  EXPECT_EQ(world.client.wait("l", forever).value().output_as<int>(), 3);
  EXPECT_EQ(attempts, 1);
}

TEST(NodeIds, GeneratedIdsDiffer) {
  ClockedWorld world;
  world.registry.add("nothing", [](OrchestrationContext&) -> Task<int> { co_return 1; });
  std::set<std::string> ids;
  for (int i = 0; i < 20; ++i) ids.insert(world.run().node().value);
  EXPECT_EQ(ids.size(), 20u);
  for (const std::string& id : ids) EXPECT_GE(id.size(), 32u) << "too short to be unique";
}

}  // namespace
}  // namespace duramen::test
