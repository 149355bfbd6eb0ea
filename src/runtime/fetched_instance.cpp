#include "runtime/fetched_instance.hpp"

#include "core/cancels.hpp"

#include <iterator>
#include <utility>

namespace duramen::inline v0::runtime {

namespace {

bool begins_execution(const InboxMessage& message) {
  return std::holds_alternative<message::StartOrchestration>(message.body) ||
         std::holds_alternative<message::ContinueAsNew>(message.body);
}

}  // namespace

bool is_fresh(const LeasedInstance& leased) {
  return !leased.last_event_id || leased.status == Status::continued_as_new;
}

CodeName code_for(const LeasedInstance& leased) {
  const bool fresh = is_fresh(leased);
  for (const InboxMessage& message : leased.messages) {
    if (!fresh) break;
    if (const auto* start = std::get_if<message::StartOrchestration>(&message.body)) {
      return {start->orchestration, start->version};
    }
    if (const auto* next = std::get_if<message::ContinueAsNew>(&message.body))
      return {next->orchestration, next->version};
  }
  return {leased.name, leased.version};
}

core::ExecutionIdentity identity_of(const LeasedInstance& leased) {
  const bool next = leased.status == Status::continued_as_new && holds<message::ContinueAsNew>(leased);
  return {leased.instance, leased.incarnation, next ? leased.execution.next() : leased.execution};
}

bool put_beginning_first(LeasedInstance& leased) {
  const auto first = std::find_if(leased.messages.begin(), leased.messages.end(), begins_execution);
  if (first == leased.messages.end()) return false;
  std::rotate(leased.messages.begin(), first, std::next(first));
  return true;
}

bool ends_without_code(const LeasedInstance& leased, std::span<const Event> history) {
  // A first execution that has not begun has nothing to clean up.
  std::optional<ParentLink> parent;
  bool graceful = false;
  if (!history.empty()) {
    const auto* started = std::get_if<event::OrchestrationStarted>(&history.front().body);
    if (started == nullptr) return false;
    graceful = started->graceful;
    parent = started->parent;
  }
  for (const InboxMessage& message : leased.messages) {
    if (const auto* start = std::get_if<message::StartOrchestration>(&message.body)) parent = start->parent;
  }
  return std::any_of(leased.messages.begin(), leased.messages.end(), [&](const InboxMessage& message) {
    const auto* cancel = std::get_if<message::CancelInstance>(&message.body);
    return cancel != nullptr && core::counts(*cancel, parent) && core::needs_no_code(*cancel, graceful);
  });
}

HeldLease held_lease(const LeasedInstance& leased, std::span<const std::size_t> taken) {
  HeldLease held{leased.lease};
  held.taken.reserve(taken.size());
  for (const std::size_t index : taken) held.taken.push_back(leased.messages[index].place);
  return held;
}

std::vector<MessageBody> take_bodies(LeasedInstance& leased) {
  std::vector<MessageBody> bodies;
  bodies.reserve(leased.messages.size());
  for (InboxMessage& message : leased.messages) bodies.push_back(std::move(message.body));
  return bodies;
}

}  // namespace duramen::inline v0::runtime
