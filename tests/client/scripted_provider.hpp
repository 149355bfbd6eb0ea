// A client on a store with a stopped clock and without a runtime: tests write the turns event by event.
//
// The clock stands still, so the client's slow poll never runs: waiters learn everything by push.
#pragma once

#include "base/overloaded.hpp"
#include "support/signal.hpp"
#include "support/temp_dir.hpp"
#include <duramen/client.hpp>
#include <duramen/forwarding_provider.hpp>
#include <duramen/sqlite.hpp>
#include <duramen/testing/manual_clock.hpp>
#include <duramen/testing/memory_provider.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace duramen::test {

using namespace std::chrono_literals;

/// A store that reports its calls to the test.
class WatchedProvider final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  /// `on_call` gets the name of each finished operation, from one thread at a time.
  void watch(std::function<void(std::string_view)> on_call) {
    std::lock_guard lock(mutex_);
    on_call_ = std::move(on_call);
  }

 private:
  std::optional<Error> after(const ProviderCall& call) override {
    std::lock_guard lock(mutex_);
    if (on_call_) on_call_(call.operation);
    return std::nullopt;
  }
  std::mutex mutex_;
  std::function<void(std::string_view)> on_call_;
};

/// An event of a turn.
struct Step {
  Step(EventBody b, std::uint64_t s = 0) : body(std::move(b)), source(s) {}  // NOLINT: written in place
  template <class Body>
    requires(!std::is_same_v<Body, EventBody> && std::is_constructible_v<EventBody, Body>)
  Step(Body b, std::uint64_t s = 0) : body(std::move(b)), source(s) {}  // NOLINT
  EventBody body;
  std::uint64_t source;
};

class ByHand : public ::testing::TestWithParam<const char*> {
 protected:
  ByHand() : provider(std::make_shared<WatchedProvider>(open())), store(provider), client(store) {}

  std::shared_ptr<Provider> open() {
    if (std::string_view(GetParam()) == "memory") return std::make_shared<testing::MemoryProvider>(clock);
    return sqlite::open_provider({.path = dir.file("store.db"),
                                  .clock = &clock,
                                  .durability = sqlite::Options::Durability::off})
        .value();
  }

  /// Leases the instance as `node`. It must have a message that is due.
  LeasedInstance fetch(const InstanceId& instance, const NodeId& node = "node-a") {
    TurnFetch request;
    request.node = node;
    request.limit = 1000;
    request.lease = 30s;
    LeasedInstance found;
    for (LeasedInstance& item : provider->fetch_turns(request).value().items) {
      if (item.instance == instance) {
        found = std::move(item);
        continue;
      }
      const TurnRelease back{{item.incarnation, item.lease}, {}, false};
      provider->release_turns(std::span(&back, 1)).value();
    }
    EXPECT_TRUE(found.lease) << instance.value << " has nothing to do";
    return found;
  }

  /// Stores one turn that takes all due messages. `more` may add to the commit.
  void turn(
      const InstanceId& instance, std::vector<Step> steps,
      const std::function<void(TurnCommit&)>& more = [](TurnCommit&) {}) {
    const LeasedInstance item = fetch(instance);
    TurnCommit commit;
    commit.token = CommitToken{++last_token_};
    commit.node = "node-a";
    commit.instance = instance;
    commit.incarnation = item.incarnation;
    commit.basis = HeldLease::all_of(item);
    commit.execution = item.execution;
    EventId next = item.last_event_id;
    if (item.status == Status::continued_as_new) {
      commit.execution = commit.execution.next();
      next = EventId{};
    }
    for (Step& step : steps) {
      next = next.next();
      add_effects(commit, next, step);
      commit.events.push_back({next, EventId{step.source}, clock.now(), std::move(step.body)});
    }
    more(commit);
    const CommitResult result = provider->commit_turns(std::span(&commit, 1)).value().front();
    ASSERT_EQ(result.outcome, CommitOutcome::committed);
  }

  /// Starts an instance of "orch" and stores its first turn.
  void begin(
      const InstanceId& instance, std::vector<Step> steps = {},
      const std::function<void(TurnCommit&)>& more = [](TurnCommit&) {}) {
    client.start(instance, "orch", "in").value();
    steps.insert(steps.begin(), started());
    turn(instance, std::move(steps), more);
  }
  /// The same for one that returns at once.
  void finish(const InstanceId& instance, std::string output = "out") {
    begin(instance, {event::OrchestrationCompleted{Payload::text(std::move(output))}});
  }
  /// One more turn of an instance that is running.
  void go_on(
      const InstanceId& instance, std::vector<Step> steps,
      const std::function<void(TurnCommit&)>& more = [](TurnCommit&) {}) {
    client.raise_event(instance, "poke", "").value();
    steps.insert(steps.begin(), Step(event::ExternalEvent{"poke", {}}));
    turn(instance, std::move(steps), more);
  }

  static Step started() {
    event::OrchestrationStarted e;
    e.name = "orch";
    e.version = "1.0.0";
    e.input = Payload::text("in");
    return e;
  }
  static Step activity(std::string name, std::optional<std::string> tag = {}) {
    event::ActivityScheduled e;
    e.name = std::move(name);
    e.input = Payload::text("x");
    e.tag = std::move(tag);
    return e;
  }
  static Step child(std::string name, InstanceId instance) {
    event::SubOrchestrationScheduled e;
    e.name = std::move(name);
    e.instance = std::move(instance);
    return e;
  }

  testing::ManualClock clock;
  TempDir dir;
  std::shared_ptr<WatchedProvider> provider;
  Store store;
  Client client;

 private:
  // Derived from the events of a turn, as a runtime would do.
  void add_effects(TurnCommit& commit, EventId id, const Step& step) {
    const auto link = [&] { return ParentLink{commit.instance, commit.incarnation, commit.execution, id}; };
    std::visit(
        Overloaded{
            [&](const event::OrchestrationStarted& e) { commit.change.version = e.version; },
            [&](const event::ActivityScheduled& e) {
              NewActivity item;
              item.request.instance = commit.instance;
              item.request.key = {commit.incarnation, commit.execution, id};
              item.request.name = e.name;
              item.request.input = e.input;
              item.request.tag = e.tag;
              item.request.session_id = e.session_id;
              item.request.orchestration_name = "orch";
              item.request.orchestration_version = "1.0.0";
              commit.new_activities.push_back(std::move(item));
            },
            [&](const event::TimerCreated& e) {
              commit.messages.push_back(OutboundMessage{
                  commit.instance, message::TimerFired{commit.execution, id, e.fire_at}, e.fire_at, {}, {}});
            },
            [&](const event::SubOrchestrationScheduled& e) {
              commit.messages.push_back(
                  OutboundMessage{e.instance,
                                  message::StartOrchestration{e.name, Payload::text("in"), {}, link()},
                                  {},
                                  {},
                                  {}});
            },
            [&](const event::ActivityCancelRequested& e) {
              commit.cancelled_activities.push_back({EventId{step.source}, e.reason});
            },
            [&](const event::OrchestrationCompleted& e) {
              commit.change.status = Status::completed;
              commit.change.output = e.output;
              commit.cancel_rest = CancelReason::orchestration_terminal_completed;
            },
            [&](const event::OrchestrationFailed& e) {
              commit.change.status =
                  e.details.kind == FailureKind::cancelled ? Status::cancelled : Status::failed;
              commit.change.failure = e.details;
              commit.cancel_rest = CancelReason::orchestration_terminal_failed;
            },
            [&](const event::OrchestrationContinuedAsNew& e) {
              commit.change.status = Status::continued_as_new;
              commit.messages.push_back(OutboundMessage{
                  commit.instance, message::ContinueAsNew{"orch", e.input, {}, {}, {}, {}}, {}, {}, {}});
              commit.cancel_rest = CancelReason::orchestration_terminal_continued_as_new;
            },
            [](const auto&) {},
        },
        step.body);
  }

  std::uint64_t last_token_ = 0;
};

/// A suite with this base runs every test on both stores.
#define DURAMEN_ON_BOTH_STORES(suite)                                           \
  INSTANTIATE_TEST_SUITE_P(Store, suite, ::testing::Values("memory", "sqlite"), \
                           [](const ::testing::TestParamInfo<const char*>& info) { return info.param; })

}  // namespace duramen::test
