// The turns that no store takes, and the messages about them.
#pragma once

#include <duramen/provider.hpp>

#include <algorithm>
#include <variant>

namespace duramen::inline v0::providers {

inline constexpr const char* turn_does_not_fit =
    "its events do not continue the stored history, or belong to an execution that is not due; check "
    "that the store was not changed by hand or restored while the runtime was running";

/// The defect of the turn itself, whatever the store holds; null: none.
[[nodiscard]] inline const char* problem_of(const TurnCommit& commit) {
  const bool empty_session = std::ranges::any_of(commit.new_activities, [](const NewActivity& activity) {
    return activity.request.session_id && activity.request.session_id->empty();
  });
  // Some stores take an empty owner or session for none, and would never hand the activity out.
  if (empty_session)
    return "it schedules an activity on a session with an empty id; give the session a name, or none";
  if (commit.put_back.empty()) return nullptr;
  const auto is_mail = [](const MessageBody& body) {
    return std::holds_alternative<message::ExternalRaised>(body) ||
           std::holds_alternative<message::QueueMessage>(body);
  };
  const auto begins = [&](const OutboundMessage& message) {
    return message.target == commit.instance && std::holds_alternative<message::ContinueAsNew>(message.body);
  };
  if (std::ranges::all_of(commit.put_back, is_mail) && std::ranges::any_of(commit.messages, begins))
    return nullptr;
  return "it puts back something other than mail, or begins no execution that takes it; put back events and "
         "queue messages only, with the beginning of the next execution";
}

/// Why the store does not take the turn.
[[nodiscard]] inline const char* reason_of_invalid(const TurnCommit& commit) {
  const char* const problem = problem_of(commit);
  return problem != nullptr ? problem : turn_does_not_fit;
}

}  // namespace duramen::inline v0::providers
