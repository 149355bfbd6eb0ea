// One execution of an orchestration: its coroutine, what it waits for, and the check against its history.
//
// Pure: what it does depends on the events, messages, code and time it is given, and on nothing else. The same loop
// serves a first run, a replay and the difference between the two: take one inbound event, run the code until it can go
// no further, settle what that decided. While history lasts, what the code does is compared with what it did; after
// that it is recorded.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include <duramen/detail/leaf.hpp>
#include <duramen/detail/operation.hpp>
#include <duramen/history.hpp>
#include <duramen/orchestration.hpp>
#include <duramen/registry.hpp>
#include <duramen/task.hpp>

#include "core/schedules.hpp"
#include "core/turn.hpp"

namespace duramen::inline v0::core {

struct ExecutionIdentity {
  InstanceId instance;
  Incarnation incarnation;  ///< none until the commit that creates the instance
  ExecutionId execution{1};
};

struct ExecutionLimits {
  std::size_t max_actions_per_turn = 10'000;
};

class Execution {
 public:
  /// `handler` may be null: then no code runs, and only what history alone decides can happen (a cancellation).
  Execution(ExecutionIdentity identity, std::shared_ptr<const OrchestrationHandler> handler,
            ExecutionLimits limits = {});
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// Takes `input.history` as given, then reacts to `input.messages`. What it returns must be committed before the next
  /// call; if the commit fails, this object has run ahead of the store and must be thrown away.
  [[nodiscard]] TurnOutcome run_turn(const TurnInput& input);

  [[nodiscard]] EventId last_event_id() const noexcept { return last_event_id_; }
  [[nodiscard]] bool ended() const noexcept { return end_.has_value(); }
  [[nodiscard]] const ExecutionIdentity& identity() const noexcept { return identity_; }
  void set_incarnation(Incarnation incarnation) noexcept { identity_.incarnation = incarnation; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& version() const noexcept { return version_; }
  [[nodiscard]] bool is_replaying() const noexcept { return replaying_; }

  // -- called by operations while code runs ---------------------------------------------------------------------------

  /// Records what a leaf asks for (or finds it in history) and remembers whom to tell. No id: the turn is over.
  EventId schedule(detail::Leaf& leaf);
  void drop(detail::Leaf& leaf, CancelReason reason) noexcept;
  void forget(detail::Leaf& leaf) noexcept;

  void make_ready(detail::WaiterList& waiters) noexcept;
  [[nodiscard]] std::uint64_t next_completion_order() noexcept { return ++completions_; }
  [[nodiscard]] CancelReason drop_reason() const noexcept { return drop_reason_; }
  CancelReason set_drop_reason(CancelReason reason) noexcept { return std::exchange(drop_reason_, reason); }

 private:
  struct Returned {
    Payload output;
  };
  struct Threw {
    Failure failure;
  };
  struct Cancelled {
    std::string reason;
    CancelOrigin origin;
  };
  using End = std::variant<Returned, Threw, Cancelled>;

  // The two sources of segments.
  void replay(std::span<const Event> history);
  void react(const WorkItem& message);

  // The parts of a segment.
  void apply(const Event& inbound);
  void begin(const event::OrchestrationStarted& started);
  template <class Outcome>
  void resolve(EventId source, Outcome outcome);
  void run_code();
  void settle_recorded();
  void settle_new();
  void record_end();

  [[nodiscard]] std::optional<Event> admit(const WorkItem& message);
  [[nodiscard]] std::optional<Event> admit_completion(ExecutionId execution, EventId source, ScheduleKind kind,
                                                      EventBody body);
  std::optional<EventId> emit(EventBody body, const std::source_location& where);
  void begin_segment(Event inbound);
  Event& append(EventBody body, EventId source = {});
  void stop(Failure failure);
  void mismatch(EventId event, const std::string& recorded, const std::string& now, const std::source_location* where);
  void impose_failure();
  [[nodiscard]] bool decided_without_code(const TurnInput& input) const;
  [[nodiscard]] CancelReason terminal_reason() const;
  [[nodiscard]] TurnOutcome finish_turn();

  // Fixed at construction.
  ExecutionIdentity identity_;
  std::shared_ptr<const OrchestrationHandler> handler_;
  const ExecutionLimits limits_;
  OrchestrationContext context_;

  // The execution so far.
  std::string name_;
  std::string version_;
  EventId last_event_id_;
  bool graceful_ = false;
  Schedules schedules_;
  std::optional<End> end_;
  std::optional<Failure> stopped_;  // the engine ended the turn: mismatch, limit, corrupt history

  // Recorded history being replayed.
  std::span<const Event> recorded_;
  std::size_t cursor_ = 0;
  bool replaying_ = false;

  // This turn.
  TimePoint now_;
  std::vector<Event> delta_;
  std::vector<std::size_t> segments_;
  std::vector<EventId> dropped_timers_;
  std::size_t actions_ = 0;
  std::size_t ignored_ = 0;
  std::size_t replayed_ = 0;

  // This segment.
  bool segment_open_ = false;
  std::map<EventId, CancelReason> cancels_;

  // Live code. Declared last: frames are destroyed before what they refer to.
  bool torn_down_ = false;
  CancelReason drop_reason_ = CancelReason::dropped_future;
  std::uint64_t completions_ = 0;
  detail::WaiterList ready_;
  std::unordered_map<EventId, detail::Leaf*> leaves_;
  std::optional<Task<Payload>> root_;
};

}  // namespace duramen::v0::core
