// Finishes all instances of a store.
#pragma once

#include "providers/sqlite/durability/store_content.hpp"
#include "providers/sqlite/fixture.hpp"

namespace duramen::sqlite::test {

/// The turn that ends any instance.
inline TurnCommit final_turn(const LeasedInstance& item, std::uint64_t token) {
  TurnCommit turn;
  turn.token = CommitToken{token};
  turn.node = "node-z";
  turn.instance = item.instance;
  turn.incarnation = item.incarnation;
  turn.basis = HeldLease::all_of(item);
  turn.execution = item.execution;
  EventId next = item.last_event_id.next();
  if (item.status == Status::continued_as_new) {
    turn.execution = item.execution.next();
    next = EventId{1};
  }
  if (item.status == Status::pending || item.status == Status::continued_as_new) {
    turn.change.version = "1.0.0";
    event::OrchestrationStarted started;
    started.name = item.name;
    started.version = "1.0.0";
    turn.events.push_back({next, {}, {}, started});
    next = next.next();
  }
  turn.events.push_back({next, {}, {}, event::OrchestrationCompleted{Payload::text("at last")}});
  turn.change.status = Status::completed;
  turn.change.output = Payload::text("at last");
  turn.cancel_rest = CancelReason::orchestration_terminal_completed;
  return turn;
}

/// Ends every instance of the store. All leases must have ended, or end within the hour.
inline void finish_everything(Provider& provider, ManualClock& clock, const std::string& path) {
  clock.advance(1h);
  for (const std::string& name : open_instances(path)) {
    // A message, because a cancel that was asked for before is not queued again.
    const OutboundMessage last{.target = name, .body = message::ExternalRaised{"the test ends", {}}};
    ASSERT_EQ(provider.enqueue_messages({&last, 1}).value().at(0), EnqueueOutcome::enqueued) << name;
  }
  std::uint64_t token = 0xe4d0'0000'0000ull;
  while (true) {
    const auto batch = provider.fetch_turns({.node = "node-z", .limit = 16, .lease = 30s}).value();
    if (batch.items.empty()) break;
    std::vector<TurnCommit> turns;
    for (const LeasedInstance& item : batch.items) turns.push_back(final_turn(item, ++token));
    for (const CommitResult& result : provider.commit_turns(turns).value()) {
      ASSERT_EQ(result.outcome, CommitOutcome::committed);
    }
  }
  ASSERT_TRUE(provider.fetch_activities(fetch_work("node-z")).value().items.empty());
  ASSERT_EQ(open_instances(path), std::vector<std::string>{});
}

}  // namespace duramen::sqlite::test
