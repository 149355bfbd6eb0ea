// A store that can never hold a turn, or that returns an impossible answer: no caller receives a success, and
// nothing runs again for it.
#include "runtime/clocked_world.hpp"
#include <duramen/forwarding_provider.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <mutex>

namespace duramen::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Lines that a runtime logged, with their fields.
class LogLines {
 public:
  [[nodiscard]] LogSink sink() {
    return [this](const LogRecord& record) {
      std::string line(record.message);
      for (const LogField& field : record.fields) {
        line += " " + std::string(field.key) + "=" + std::string(field.value);
      }
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(record.level, std::move(line));
    };
  }
  [[nodiscard]] std::vector<std::string> at(LogLevel level) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> found;
    for (const auto& [at, line] : lines_) {
      if (at == level) found.push_back(line);
    }
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<LogLevel, std::string>> lines_;
};

/// Cannot hold turns that write the key "huge": as a store whose index has a limit.
class Picky final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::atomic<int> refused{0};
  std::atomic<bool> refuse_turns_without_events{false};
  std::atomic<int> refuse_ends{0};            ///< this many failed ends are refused as well
  std::optional<CommitOutcome> start_answer;  ///< to every fused start, nothing stored; set before it runs

  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    std::vector<CommitResult> results;
    for (const TurnCommit& commit : commits) {
      if (start_answer && std::holds_alternative<FusedStart>(commit.basis)) {
        results.push_back({.outcome = *start_answer});
      } else if (!fits(commit)) {
        ++refused;
        results.push_back({.outcome = CommitOutcome::invalid,
                           .incarnation = commit.incarnation,
                           .message = "a key is too long for the index; shorten it"});
      } else {
        auto answer = ForwardingProvider::commit_turns({&commit, 1}, {});
        if (!answer) return answer.error();
        results.push_back(std::move(answer->front()));
      }
    }
    (void)preempt;
    return results;
  }

 private:
  bool fits(const TurnCommit& commit) {
    for (const KeyValueChange& change : commit.change.key_values) {
      if (change.key == "huge") return false;
    }
    if (refuse_turns_without_events && commit.events.empty()) return false;
    return commit.change.status != Status::failed || refuse_ends == 0 || refuse_ends-- <= 0;
  }
};

class Refusals : public ::testing::Test {
 protected:
  Refusals()
      : world([this](std::shared_ptr<Provider> inner) {
          auto wrapped = std::make_shared<Picky>(std::move(inner));
          store = wrapped.get();
          return wrapped;
        }) {
    world.registry.add("Work", [this](ActivityContext&) {
      ++runs;
      return 1;
    });
    world.registry.add("at_once", [](OrchestrationContext& ctx) -> Task<int> {
      ctx.set_kv_value("huge", 1);
      co_return co_await ctx.schedule_activity<int>("Work");
    });
    world.registry.add("after_work", [](OrchestrationContext& ctx) -> Task<int> {
      const int value = co_await ctx.schedule_activity<int>("Work");
      ctx.set_kv_value("huge", value);
      co_return co_await ctx.schedule_wait<int>("never");
    });
    world.registry.add("after_event", [](OrchestrationContext& ctx) -> Task<int> {
      const int value = co_await ctx.schedule_wait<int>("go");
      ctx.set_kv_value("huge", value);
      co_return value;
    });
    world.registry.add("parent", [](OrchestrationContext& ctx, std::string child) -> Task<std::string> {
      auto answer =
          co_await ctx.schedule_sub_orchestration<int>(child, 0, ChildOptions().id("child")).as_result();
      co_return answer ? "worked" : answer.error().type + ": " + answer.error().message;
    });
  }
  Runtime& run(RuntimeOptions options = {}) {
    options.log = log.sink();
    return world.run(std::move(options));
  }
  /// Time stands still: a broken test ends after some seconds.
  Failure failure_of(const InstanceId& instance) {
    const auto state = world.client.wait(instance, 5s);
    return state && state->failure ? *state->failure : Failure{};
  }

  Picky* store = nullptr;
  std::atomic<int> runs{0};
  LogLines log;
  ClockedWorld world;
};

// -- starts --------------------------------------------------------------------------------------

TEST_F(Refusals, AStartWhoseFirstTurnTheStoreCannotHoldIsAnErrorAndStoresNothing) {
  run();
  const auto outcome = world.client.start("i", "at_once");
  ASSERT_FALSE(outcome) << "an acknowledged start is lost";
  EXPECT_EQ(outcome.error().code, ErrorCode::invalid_argument);
  EXPECT_FALSE(outcome.error().retryable);
  EXPECT_THAT(outcome.error().message, HasSubstr("a key is too long for the index; shorten it"));
  EXPECT_FALSE(world.provider->get_instance("i").value());
  EXPECT_EQ(runs, 0);
}

TEST_F(Refusals, AnAnswerThatAStartCannotHaveIsAnError) {
  for (const CommitOutcome wrong : {CommitOutcome::lease_lost, CommitOutcome::condition_failed}) {
    store->start_answer = wrong;
    if (world.runtimes.empty()) run();
    const auto outcome = world.client.start("i", "after_work");
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ErrorCode::internal);
  }
}

// -- later turns ---------------------------------------------------------------------------------

TEST_F(Refusals, AnInstanceWhoseTurnTheStoreCannotHoldFailsAtOnceWithTheStoresReason) {
  run();
  world.client.start("i", "after_work").value();
  const Failure failure = failure_of("i");
  EXPECT_EQ(failure.kind, FailureKind::infrastructure);
  EXPECT_EQ(failure.type, "TurnRefused");
  EXPECT_THAT(failure.message,
              AllOf(HasSubstr("a key is too long for the index; shorten it"), Not(HasSubstr("crash"))));
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(store->refused, 1);
  const QueueDepths depths = world.provider->get_queue_depths().value();
  EXPECT_EQ(depths.worker_due + depths.worker_leased + depths.worker_later, 0u);
}

TEST_F(Refusals, AnInstanceWokenByAMessageFailsAtOnceAsWell) {
  run();
  world.client.start("i", "after_event").value();
  world.client.raise_event("i", "go", 7).value();
  EXPECT_EQ(failure_of("i").type, "TurnRefused");
  EXPECT_EQ(store->refused, 1);
}

// It was released, fetched, run and refused again, without a pause.
TEST_F(Refusals, ATurnWithoutEventsIsRefusedOnce) {
  world.registry.add("after_a_timer", [](OrchestrationContext& ctx) -> Task<int> {
    co_await ctx.schedule_timer(1s);
    co_return co_await ctx.schedule_wait<int>("never");
  });
  run();
  world.client.start("i", "after_a_timer").value();
  world.until([&] { return world.provider->read_history("i", ExecutionId{1}, {}).value().size() >= 3; },
              [&] { world.clock.advance(100ms); });
  store->refuse_turns_without_events = true;
  // The timer fires a second time: the turn ignores it and has no events.
  const OutboundMessage again{.target = "i",
                              .body = message::TimerFired{ExecutionId{1}, EventId{2}, world.clock.now()}};
  ASSERT_EQ(world.provider->enqueue_messages({&again, 1}).value().at(0), EnqueueOutcome::enqueued);
  EXPECT_EQ(failure_of("i").type, "TurnRefused");
  EXPECT_EQ(store->refused, 1);
}

TEST_F(Refusals, AChildWhoseFirstTurnTheStoreCannotHoldAnswersItsParent) {
  run();
  world.client.start("p", "parent", "at_once").value();
  EXPECT_THAT(world.client.wait("p", 5s).value().output_as<std::string>(),
              HasSubstr("TurnRefused: the store cannot hold a turn of \"at_once\": a key is too long"));
}

TEST_F(Refusals, AFailureThatTheStoreCannotHoldIsRetriedLater) {
  store->refuse_ends = 1;
  run();
  world.client.start("i", "after_event").value();
  world.client.raise_event("i", "go", 7).value();
  const InstanceState state = world.wait("i", [this] { world.clock.advance(100ms); });
  EXPECT_EQ(state.failure->type, "TurnRefused");
  EXPECT_EQ(store->refused, 3);  // the turn, its failure, and the turn again
}

TEST_F(Refusals, ManyAreEachRefusedOnceEvenIfNothingIsResident) {
  // Stored before there is a runtime: their first turns are fetched, and refused, together.
  const std::vector<InstanceId> all{InstanceId("a"), InstanceId("b"), InstanceId("c"), InstanceId("d")};
  for (const InstanceId& instance : all) world.client.start(instance, "at_once").value();
  RuntimeOptions options;
  options.max_resident_instances = 0;
  run(options);
  for (const InstanceId& instance : all) EXPECT_EQ(failure_of(instance).type, "TurnRefused");
  EXPECT_EQ(store->refused, 4);
}

/// Cannot hold turns of the node "one" that write the key "huge" or have no events, and gives it no turn
/// after that until `again`.
class PickyWithOneNode final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::atomic<bool> refused{false};
  std::atomic<bool> again{false};

  Result<TurnBatch> fetch_turns(const TurnFetch& request) override {
    if (request.node == NodeId("one") && refused && !again) return TurnBatch{};
    return ForwardingProvider::fetch_turns(request);
  }
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    const TurnCommit& commit = commits.front();
    const bool fits = commit.change.key_values.empty() && !commit.events.empty();
    if (commits.size() > 1 || commit.node != NodeId("one") || fits)
      return ForwardingProvider::commit_turns(commits, preempt);
    refused = true;
    return std::vector<CommitResult>{{.outcome = CommitOutcome::invalid, .message = "it is too long"}};
  }
};

TEST(RefusedByOneNode, AnInstanceThatContinuedElsewhereDoesNotFail) {
  PickyWithOneNode* store = nullptr;
  ClockedWorld world([&](std::shared_ptr<Provider> inner) {
    auto wrapped = std::make_shared<PickyWithOneNode>(std::move(inner));
    store = wrapped.get();
    return wrapped;
  });
  world.registry.add("two_events", [](OrchestrationContext& ctx) -> Task<int> {
    const int first = co_await ctx.schedule_wait<int>("first");
    ctx.set_kv_value("huge", first);
    const int second = co_await ctx.schedule_wait<int>("second");
    co_return first + second;
  });
  RuntimeOptions one;
  one.node = NodeId("one");
  world.run(one);
  world.client.start("i", "two_events").value();
  world.client.raise_event("i", "first", 1).value();
  world.until([&] { return store->refused.load(); });
  // Another node, perhaps with other code, stores the turn.
  Runtime& other = world.run();
  world.until([&] { return world.client.get_key_values("i").value().contains("huge"); },
              [&] { world.clock.advance(100ms); });
  other.shutdown(Duration{0});
  store->again = true;
  world.client.raise_event("i", "second", 2).value();
  const InstanceState state = world.wait("i", [&] { world.clock.advance(100ms); });
  EXPECT_EQ(state.status, Status::completed) << (state.failure ? state.failure->message : "");
}

// Its history is the same after the turn as before it.
TEST(RefusedByOneNode, ATurnWithoutEventsThatAnotherNodeStoredDoesNotFailTheInstance) {
  PickyWithOneNode* store = nullptr;
  ClockedWorld world([&](std::shared_ptr<Provider> inner) {
    auto wrapped = std::make_shared<PickyWithOneNode>(std::move(inner));
    store = wrapped.get();
    return wrapped;
  });
  world.registry.add("after_a_timer", [](OrchestrationContext& ctx) -> Task<int> {
    co_await ctx.schedule_timer(1s);
    co_return co_await ctx.schedule_wait<int>("go");
  });
  RuntimeOptions one;
  one.node = NodeId("one");
  world.run(one);
  world.client.start("i", "after_a_timer").value();
  world.until([&] { return world.provider->read_history("i", ExecutionId{1}, {}).value().size() >= 3; },
              [&] { world.clock.advance(100ms); });
  const OutboundMessage again{.target = "i",
                              .body = message::TimerFired{ExecutionId{1}, EventId{2}, world.clock.now()}};
  ASSERT_EQ(world.provider->enqueue_messages({&again, 1}).value().at(0), EnqueueOutcome::enqueued);
  world.until([&] { return store->refused.load(); }, [&] { world.clock.advance(100ms); });
  Runtime& other = world.run();
  world.until(
      [&] {
        const QueueDepths depths = world.provider->get_queue_depths().value();
        return depths.orchestrator_due + depths.orchestrator_leased + depths.orchestrator_later == 0;
      },
      [&] { world.clock.advance(100ms); });
  other.shutdown(Duration{0});
  store->again = true;
  world.client.raise_event("i", "go", 2).value();
  const InstanceState state = world.wait("i", [&] { world.clock.advance(100ms); });
  EXPECT_EQ(state.status, Status::completed) << (state.failure ? state.failure->message : "");
}

// -- detached starts -----------------------------------------------------------------------------

TEST_F(Refusals, ADetachedStartOfATakenIdIsInTheLog) {
  world.registry.add("starts", [](OrchestrationContext& ctx) -> Task<int> {
    ctx.schedule_orchestration("after_event", "taken", 0);
    ctx.schedule_orchestration("after_event", "free", 0);
    co_return 1;
  });
  run();
  world.client.start("taken", "after_event").value();
  world.finish("s", "starts", std::monostate{});
  const auto warnings = log.at(LogLevel::warning);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings.front(), AllOf(HasSubstr("instance_id=s"), HasSubstr("refused_id=taken")));
}

}  // namespace
}  // namespace duramen::test
