// One turn as a value: what goes in, what comes out.
#pragma once

#include <duramen/history.hpp>
#include <duramen/ids.hpp>
#include <duramen/log.hpp>
#include <duramen/message.hpp>
#include <duramen/provider.hpp>
#include <duramen/status.hpp>
#include <duramen/time.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace duramen::inline v0::core {

struct TurnInput {
  /// Committed events that this execution has not seen yet: all of them for a new one, none for one kept
  /// since its last turn, those of other nodes' turns in between.
  std::span<const Event> history;
  /// What arrived since, in queue order.
  std::span<const MessageBody> messages;
  TimePoint now;
  /// What new_guid() is made of. Recorded, so it may differ each time.
  std::uint64_t entropy = 0;
  /// Ends the execution with this failure, from history alone: no code runs, and the messages go unseen. For
  /// what cannot be run, or was tried too often.
  const Failure* condemned = nullptr;
};

/// A line of ctx.trace(), to be written once the turn is committed: never on replay, never for a turn that
/// was refused.
struct TraceLine {
  LogLevel level;
  std::string text;
};

/// What the turn decided. `events` are whole segments; what follows is derived from them and says what must
/// leave.
struct TurnOutcome {
  std::vector<Event> events;
  std::vector<std::size_t> segments;  ///< index in `events` at which each segment begins

  Status status = Status::running;
  std::optional<Payload> output;
  std::optional<Failure> failure;
  std::optional<CustomStatusChange> custom_status;
  std::vector<KeyValueChange> key_values;

  std::vector<ActivityRequest> activities;
  std::vector<OutboundMessage>
      messages;  ///< timers, child and detached starts, cancels, answers, the next execution
  std::vector<CancelledActivity> cancelled_activities;
  std::optional<CancelReason> cancel_rest;  ///< on terminal turns
  std::vector<EventId> dropped_timers;

  std::vector<TraceLine> traces;
  std::vector<std::string> warnings;  ///< for the log: what was tolerated
  std::size_t ignored_messages = 0;   ///< duplicates, answers to an earlier execution, anything after the end
  std::size_t replayed_events = 0;

  [[nodiscard]] bool ended() const noexcept { return is_final(status) || status == Status::continued_as_new; }
};

/// Where the segments of a recorded history begin. Prefixes that end there can be replayed.
[[nodiscard]] std::vector<std::size_t> find_segments(std::span<const Event> history);

}  // namespace duramen::inline v0::core
