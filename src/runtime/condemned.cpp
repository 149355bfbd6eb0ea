#include "runtime/condemned.hpp"

#include "runtime/fetched_instance.hpp"
#include <duramen/detail/mutant.hpp>

#include <memory>
#include <string>
#include <utility>

namespace duramen::inline v0::runtime {

namespace {

/// The last turn of an instance without a readable history.
TurnCommit end_without_history(const core::ExecutionIdentity& identity, const LeasedInstance& leased,
                               const Condemned& condemned, Failure failure, TimePoint now) {
  failure.type = "UnreadableHistory";
  failure.message = "the history of the instance cannot be read: " + condemned.why_not + ". It was tried " +
                    std::to_string(leased.attempt) +
                    " times; restore the store from a backup, or delete the instance";
  TurnCommit commit;
  commit.instance = identity.instance;
  commit.incarnation = identity.incarnation;
  commit.execution = identity.execution;
  commit.events.push_back(Event{leased.last_event_id.next(), {}, now, event::OrchestrationFailed{failure}});
  commit.change.status = Status::failed;
  commit.cancel_rest = CancelReason::poison;
  for (const InstanceInfo& child : condemned.children) {
    message::CancelInstance cancel;
    cancel.reason = std::string(to_string(CancelReason::poison));
    cancel.origin = CancelOrigin::parent;
    cancel.parent = child.parent;
    commit.messages.push_back(OutboundMessage{child.instance, std::move(cancel), {}, {}});
  }
  if (condemned.parent) {
    commit.messages.push_back(OutboundMessage{
        condemned.parent->instance, message::SubOrchestrationFailed{*condemned.parent, failure}, {}, {}});
  }
  commit.change.failure = std::move(failure);
  return commit;
}

}  // namespace

Result<std::vector<Event>> whole_history(Provider& provider, const LeasedInstance& leased, EventId after,
                                         Result<std::vector<Event>> history) {
  if (!history) return history;
  const EventId last = history->empty() ? after : history->back().id;
  if (last >= leased.last_event_id || detail::mutant("a_short_history_is_taken_as_it_is")) return history;
  // The instance may have been deleted since: then its commit fails, and nothing is wrong.
  const auto info = provider.get_instance(leased.instance);
  if (!info) return info.error();
  if (!*info || (*info)->incarnation != leased.incarnation || (*info)->execution != leased.execution)
    return history;
  return Error{ErrorCode::corrupt, "read_history",
               "the events after " + std::to_string(last.value) + " are missing; the last one stored was " +
                   std::to_string(leased.last_event_id.value),
               false};
}

Condemned read_condemned(Provider& provider, const LeasedInstance& leased) {
  Condemned condemned;
  if (is_fresh(leased)) {
    condemned.history.emplace();
    return condemned;
  }
  auto history = whole_history(provider, leased, EventId{},
                               provider.read_history(leased.instance, leased.execution, EventId{}));
  if (history) {
    condemned.history = std::move(*history);
    return condemned;
  }
  condemned.why_not = history.error().message;
  condemned.retry_later = history.error().retryable;
  if (condemned.retry_later) return condemned;

  const auto info = provider.get_instance(leased.instance);
  InstanceQuery query;
  query.filter.parent = leased.instance;
  query.filter.statuses = {Status::pending, Status::running, Status::cancelling, Status::continued_as_new};
  query.limit = 1000;
  do {
    auto page = provider.list_instances(query);
    if (!info || !page) {
      condemned.retry_later = true;
      return condemned;
    }
    for (InstanceInfo& child : page->instances) condemned.children.push_back(std::move(child));
    query.after = page->next;
  } while (query.after);
  if (*info) condemned.parent = (*info)->parent;
  return condemned;
}

PendingTurn condemned_turn(TurnBuilder& builder, LeasedInstance& leased, const Condemned& condemned,
                           Failure failure, TimePoint now) {
  const core::ExecutionIdentity identity = identity_of(leased);
  PendingTurn turn;
  if (condemned.history) {
    // It may be the first turn: the beginning records the write level and the limits of this node.
    const auto execution = detail::mutant("a_condemned_start_ignores_its_node")
                               ? std::make_unique<core::Execution>(identity, nullptr)
                               : builder.make_execution(identity, nullptr);
    turn = builder.run(*execution, *condemned.history, take_bodies(leased), &failure);
  } else {
    turn.commit = end_without_history(identity, leased, condemned, std::move(failure), now);
    builder.sign(turn.commit);
  }
  turn.condemned = true;
  return turn;
}

}  // namespace duramen::inline v0::runtime
