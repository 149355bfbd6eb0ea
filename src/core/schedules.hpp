// What an execution has asked for and how far each of it is, derived from its events alone.
//
//   unknown ──scheduled──▶ open ──completion──▶ closed
//                           │
//                           └──cancel──▶ cancelled ──late completion──▶ closed
//
// Kept as one byte per event, so that a history of any length costs little and a lookup costs nothing.
#pragma once

#include <duramen/history.hpp>
#include <duramen/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace duramen::inline v0::core {

enum class ScheduleKind : std::uint8_t { none, activity, timer, sub_orchestration, external, queue };
enum class ScheduleState : std::uint8_t { unknown, open, cancelled, closed };

class Schedules {
 public:
  /// Takes note of an event, recorded or new. Events come in order of their ids.
  void note(const Event& event);
  /// Timers are cancelled without an event, and waits are answered by one that does not name them.
  void cancel(EventId id) { set_state(id, ScheduleState::cancelled); }
  void close(EventId id) { set_state(id, ScheduleState::closed); }

  /// Forgets what events after `last` scheduled: they never happened.
  void forget_after(EventId last);

  [[nodiscard]] ScheduleKind kind(EventId id) const noexcept;
  [[nodiscard]] ScheduleState state(EventId id) const noexcept;
  [[nodiscard]] std::vector<EventId> open(ScheduleKind kind) const;

 private:
  void open(EventId id, ScheduleKind kind);
  void set_state(EventId id, ScheduleState state);

  std::uint64_t last_ = 0;             // the event noted last
  std::vector<std::uint8_t> entries_;  // kind in the low nibble, state in the high one; index is the event id
};

}  // namespace duramen::inline v0::core
