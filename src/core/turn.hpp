// One turn as a value: its input and its outcome.
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
  /// since its last turn, or those of other nodes' turns in between.
  std::span<const Event> history;
  /// New messages, in queue order.
  std::span<const MessageBody> messages;
  TimePoint now;
  /// The source of new_guid(). The result is recorded, so it may differ each time.
  std::uint64_t entropy = 0;
  /// Ends the execution with this failure, from history alone: no code runs, and the messages are ignored.
  /// Used if the code cannot run, or was tried too often.
  const Failure* condemned = nullptr;
};

/// A line of ctx.trace(), to be written once the turn is committed: never on replay, never for a refused
/// turn.
struct TraceLine {
  LogLevel level;
  std::string text;
};

/// The decisions of a turn. `events` are whole segments; the other fields are derived from them and list the
/// outputs.
struct TurnOutcome {
  std::vector<Event> events;
  /// Index in `events` of each segment's begin.
  std::vector<std::size_t> segments;

  Status status = Status::running;
  std::optional<Payload> output;
  std::optional<Failure> failure;
  std::optional<CustomStatusChange> custom_status;
  std::vector<KeyValueChange> key_values;

  std::vector<ActivityRequest> activities;
  /// Timers, child and detached starts, cancels, answers, the next execution.
  std::vector<OutboundMessage> messages;
  /// With continued_as_new: unclaimed mail that the next execution takes first, beyond what its beginning
  /// carries.
  std::vector<MessageBody> put_back;
  std::vector<CancelledActivity> cancelled_activities;
  std::optional<CancelReason> cancel_rest;  ///< on terminal turns
  std::vector<EventId> dropped_timers;
  /// After a replay: a timer of an earlier turn that the code waits for. No event records that a timer was
  /// dropped, so other code may have dropped it; sent again, it fires. A timer that is still in the queue
  /// stays as it is. One in each turn, the first that is due: the turn in which it fires sends the next.
  std::optional<OutboundMessage> timer_again;

  std::vector<TraceLine> traces;
  std::vector<std::string> warnings;  ///< for the log: what was tolerated
  /// The indexes of the messages that the turn took, in order. The others stay in the queue: those behind a
  /// continue-as-new, and those behind a turn that has become large.
  std::vector<std::size_t> taken;
  /// Duplicates, answers to an earlier execution, anything after the end. They are taken as well.
  std::size_t ignored_messages = 0;
  /// About the size of the events and of the mail that is carried or put back, in bytes.
  std::size_t bytes = 0;
  std::size_t replayed_events = 0;

  [[nodiscard]] bool ended() const noexcept { return is_final(status) || status == Status::continued_as_new; }
};

/// The indexes at which the segments of a recorded history begin. Prefixes that end there can be replayed.
[[nodiscard]] std::vector<std::size_t> find_segments(std::span<const Event> history);

}  // namespace duramen::inline v0::core
