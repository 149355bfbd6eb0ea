#include "core/schedules.hpp"

#include <variant>

namespace duramen::inline v0::core {

namespace {
constexpr std::uint8_t pack(ScheduleKind kind, ScheduleState state) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(kind) | static_cast<unsigned>(state) << 4u);
}
constexpr ScheduleKind kind_of(std::uint8_t entry) { return static_cast<ScheduleKind>(entry & 0x0fu); }
constexpr ScheduleState state_of(std::uint8_t entry) { return static_cast<ScheduleState>(entry >> 4u); }

std::optional<ScheduleKind> scheduled_kind(const EventBody& body) {
  if (std::holds_alternative<event::ActivityScheduled>(body)) return ScheduleKind::activity;
  if (std::holds_alternative<event::TimerCreated>(body)) return ScheduleKind::timer;
  if (std::holds_alternative<event::SubOrchestrationScheduled>(body)) return ScheduleKind::sub_orchestration;
  if (std::holds_alternative<event::ExternalSubscribed>(body)) return ScheduleKind::external;
  if (std::holds_alternative<event::QueueSubscribed>(body)) return ScheduleKind::queue;
  return std::nullopt;
}
}  // namespace

void Schedules::note(const Event& event) {
  // A damaged history is still read to its end, to cancel its open operations. A single wrong id must not
  // cost the memory for all ids below it.
  constexpr std::uint64_t widest_gap = 65'536;
  if (event.id.value > last_ && event.id.value - last_ > widest_gap) return;
  last_ = event.id.value;
  if (event.source) {
    set_state(event.source,
              event_class(event) == EventClass::cancel ? ScheduleState::cancelled : ScheduleState::closed);
  } else if (auto kind = scheduled_kind(event.body)) {
    open(event.id, *kind);
  }
}

void Schedules::forget_after(EventId last) {
  if (last.value + 1 < entries_.size()) entries_.resize(last.value + 1);
}

ScheduleKind Schedules::kind(EventId id) const noexcept {
  return id.value < entries_.size() ? kind_of(entries_[id.value]) : ScheduleKind::none;
}

ScheduleState Schedules::state(EventId id) const noexcept {
  return id.value < entries_.size() ? state_of(entries_[id.value]) : ScheduleState::unknown;
}

std::vector<EventId> Schedules::open(ScheduleKind kind) const {
  std::vector<EventId> ids;
  for (std::size_t id = 0; id < entries_.size(); ++id) {
    if (entries_[id] == pack(kind, ScheduleState::open)) ids.emplace_back(id);
  }
  return ids;
}

void Schedules::open(EventId id, ScheduleKind kind) {
  if (id.value >= entries_.size()) entries_.resize(id.value + 1);
  entries_[id.value] = pack(kind, ScheduleState::open);
}

void Schedules::set_state(EventId id, ScheduleState state) {
  if (id.value < entries_.size()) entries_[id.value] = pack(kind_of(entries_[id.value]), state);
}

}  // namespace duramen::inline v0::core
