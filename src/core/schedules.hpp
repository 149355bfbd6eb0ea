// The operations of an execution and the state of each, derived from its events alone.
//
//   unknown ──scheduled──▶ open ──completion──▶ closed
//                           │
//                           └──cancel──▶ cancelled ──late completion──▶ closed
//
// One byte per event, so that a long history needs little memory and a lookup is cheap.
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
  /// Records an event, old or new. Events come in order of their ids.
  void note(const Event& event);
  /// Cancels without an event: timers have none, and the event that answers a wait does not name it.
  void cancel(EventId id) { set_state(id, ScheduleState::cancelled); }
  void close(EventId id) { set_state(id, ScheduleState::closed); }

  /// Forgets operations scheduled after `last`: those events never happened.
  void forget_after(EventId last);

  [[nodiscard]] ScheduleKind kind(EventId id) const noexcept;
  [[nodiscard]] ScheduleState state(EventId id) const noexcept;
  [[nodiscard]] std::vector<EventId> open(ScheduleKind kind) const;

 private:
  void open(EventId id, ScheduleKind kind);
  void set_state(EventId id, ScheduleState state);

  std::uint64_t last_ = 0;  // the event noted last
  // Kind in the low nibble, state in the high one; the index is the event id.
  std::vector<std::uint8_t> entries_;
};

}  // namespace duramen::inline v0::core
