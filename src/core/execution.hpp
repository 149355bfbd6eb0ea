// One execution of an orchestration: its coroutine, its open operations, and the check against its history.
//
// Pure: the result depends only on the given events, messages, code and time. One loop serves a first run, a
// replay and anything between: take one inbound event, run the code until it can go no further, close the
// segment. During replay the actions of the code are compared with history; after that they are recorded.
//
//   execution.cpp   the segments: replay, react, close, end
//   live_tasks.cpp  which Task continues, and which a cancellation reaches
//   admission.cpp   messages become inbound events
//   actions.cpp     actions of code: schedule, drop, set, start
//   outcome.cpp     the outputs of a turn
#pragma once

#include "core/live_tasks.hpp"
#include "core/mailboxes.hpp"
#include "core/schedules.hpp"
#include "core/turn.hpp"
#include <duramen/detail/leaf.hpp>
#include <duramen/detail/operation.hpp>
#include <duramen/history.hpp>
#include <duramen/key_values.hpp>
#include <duramen/orchestration.hpp>
#include <duramen/registry.hpp>
#include <duramen/task.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <source_location>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace duramen::inline v0::core {

struct ExecutionIdentity {
  InstanceId instance;
  /// None until the commit that creates the instance.
  Incarnation incarnation;
  ExecutionId execution{1};
};

struct ExecutionOptions {
  /// Of one segment. A wait that is answered at once is no action.
  std::size_t max_actions_per_turn = 10'000;
  /// Children of an instance at this depth cannot be scheduled. Recorded when the execution begins.
  std::uint32_t max_depth = default_max_depth;
  /// Likewise recorded: code may have caught the refusal of a larger payload.
  std::size_t max_payload_bytes = default_payload_limit;
  /// The reaction to an input of a recorded activity or child that differs from the current one: a struct may
  /// have gained a field while instances run.
  enum class InputMismatch : std::uint8_t { error, warn } input_mismatch = InputMismatch::error;
  /// The engine version at which a new execution begins.
  std::uint32_t write_level = duramen::engine_version;
  /// The key-values of the instance as left by earlier executions.
  KeyValues key_values = {};
  /// True: a history that has ended is replayed to its end, and the code must reach the same end. False: an
  /// ended history is over, and its code does not run.
  bool repeat_end = false;
};

class Execution {
 public:
  /// `handler` may be null: then no code runs, and only history alone can decide something (a cancellation).
  Execution(ExecutionIdentity identity, std::shared_ptr<const OrchestrationHandler> handler,
            ExecutionOptions options = {});
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// Accepts `input.history`, then reacts to `input.messages`. The caller must commit the outcome before the
  /// next call; if the commit fails, this object is ahead of the store and must be destroyed.
  [[nodiscard]] TurnOutcome run_turn(const TurnInput& input);

  [[nodiscard]] EventId last_event_id() const noexcept { return last_event_id_; }
  [[nodiscard]] bool ended() const noexcept { return end_.has_value(); }
  /// The reason why the engine ended it: a mismatch, a limit, a corrupt history.
  [[nodiscard]] const std::optional<Failure>& stopped() const noexcept { return stopped_; }
  [[nodiscard]] const ExecutionIdentity& identity() const noexcept { return identity_; }
  void set_incarnation(Incarnation incarnation) noexcept { identity_.incarnation = incarnation; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& version() const noexcept { return version_; }
  /// The level at which the execution began.
  [[nodiscard]] std::uint32_t engine_version() const noexcept { return engine_version_; }
  [[nodiscard]] TimePoint started_at() const noexcept { return started_at_; }
  /// The number of events of all earlier executions of the instance.
  [[nodiscard]] std::uint64_t events_before() const noexcept { return events_before_; }
  [[nodiscard]] bool is_replaying() const noexcept { return replaying_; }
  [[nodiscard]] OrchestrationContext& context() noexcept { return context_; }

  // -- called while code runs: actions.cpp --------------------------------------------------------

  /// Records the request of a leaf (or finds it in history) and registers the leaf for the answer, which may
  /// be there already. No id: the turn is over.
  EventId schedule(detail::Leaf& leaf);
  void drop(detail::Leaf& leaf, CancelReason reason) noexcept;
  void forget(detail::Leaf& leaf) noexcept;
  void chain(event::OrchestrationChained start, const std::source_location& where);
  void continue_as_new(Payload input, std::optional<std::string> version, const std::source_location& where);
  void set_custom_status(std::optional<std::string> status, const std::source_location& where);
#ifdef DURAMEN_TEST_LEVEL_2
  void test_mark(std::string name, const std::source_location& where);
#endif
  [[nodiscard]] const std::optional<std::string>& custom_status() const noexcept { return custom_status_; }
  void set_key_value(std::string key, Payload value, const std::source_location& where);
  void clear_key_value(std::string key, const std::source_location& where);
  void clear_key_values(const std::source_location& where);
  [[nodiscard]] const KeyValues& key_values() const noexcept { return key_values_; }
  void trace(LogLevel level, std::string text);

  void make_ready(detail::WaiterList& waiters) noexcept;
  [[nodiscard]] std::uint64_t next_completion_order() noexcept { return ++completions_; }
  /// The reason of drops at this moment.
  [[nodiscard]] CancelReason drop_reason() const noexcept;
  /// Overrides the reason while set.
  std::optional<CancelReason> set_drop_reason(std::optional<CancelReason> reason) noexcept {
    return std::exchange(drop_reason_, reason);
  }
  /// Set once a graceful cancellation has reached the code.
  [[nodiscard]] const event::OrchestrationCancelRequested* cancelling() const noexcept {
    return cancelling_ ? &*cancelling_ : nullptr;
  }
  [[nodiscard]] LiveTasks& tasks() noexcept { return tasks_; }
  /// True once nothing that code does counts: the engine has stopped it, or destroys its frames.
  [[nodiscard]] bool is_over() const noexcept { return torn_down_ || stopped_.has_value(); }
  /// Counts an await that ends at its begin, because the execution is being cancelled. False if there were
  /// too many, which ends the turn.
  [[nodiscard]] bool count_interruption(const std::source_location& where);
  /// For the log, once the turn is committed.
  void warn(std::string text);

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
    CancelMode mode;
    std::optional<std::string> requested_by;
  };
  struct Continued {
    Payload input;
    std::optional<std::string> version;
  };
  using End = std::variant<Returned, Threw, Cancelled, Continued>;
  /// A call that threw, and its place.
  struct Refusal {
    Failure failure;
    std::source_location where;
  };
  struct Drop {
    CancelReason reason;
    std::source_location where;  // of what was dropped
  };

  // The two sources of segments.
  void replay(std::span<const Event> history);
  [[nodiscard]] bool check_order(std::span<const Event> history);
  [[nodiscard]] bool check_completion(const Event& event);
  void read_rest();
  void read_end(const Event& terminal);
  void follow_mail(const Event& event);
  void take(const TurnInput& input);
  void take_rest(const TurnInput& input);
  [[nodiscard]] bool continues() const noexcept;
  void react(const MessageBody& message);

  // The parts of a segment.
  void apply(const Event& inbound);
  void begin(const event::OrchestrationStarted& started);
  void read_beginning(const event::OrchestrationStarted& started);
  void cancel(const event::OrchestrationCancelRequested& request);
  void arrive(CarriedEvent mail);
  template <class Outcome>
  void resolve(EventId source, Outcome outcome);
  void run_code();
  void run_until_nothing_is_ready();
  [[nodiscard]] std::optional<End> reached_end();
  [[nodiscard]] End cancelled_end() const;
  [[nodiscard]] Failure failure_of(const std::exception_ptr& thrown) const;
  static void refuse_unfit(End& end, std::size_t limit);
  void close_recorded_segment();
  void compare_end(const Event& recorded);
  void drop_what_is_open();
  [[nodiscard]] EventBody end_event() const;
  void pass_cancel_on(event::SubOrchestrationCancelRequested& child) const;
  void close_new_segment();
  void record_end();
  void begin_segment(Event inbound);
  Event& append(EventBody body, EventId source = {});

  // admission.cpp
  [[nodiscard]] std::optional<Event> admit(const MessageBody& message);
  [[nodiscard]] std::optional<Payload> kept_details(const message::ActivityFailed& failed);
  void take_early_cancel(const TurnInput& input);
  [[nodiscard]] bool decided_without_code(const TurnInput& input) const;
  [[nodiscard]] std::optional<Event> admit_completion(ExecutionId execution, EventId source,
                                                      ScheduleKind kind, EventBody body);
  [[nodiscard]] std::optional<Event> admit_child(const ParentLink& parent, EventBody body);
  [[nodiscard]] std::optional<Event> admit_cancel(const message::CancelInstance& cancel);
  [[nodiscard]] bool is_mine(const ParentLink& link) const;

  // actions.cpp
  const Event* emit(EventBody body, const std::source_location& where);
  template <class Call>
  auto checked(const std::source_location& where, Call call);
  const Event* record(EventBody body, const std::source_location& where);
  const Event* match(const EventBody& body, const std::source_location& where);
  [[nodiscard]] bool ignores_calls(const std::source_location& where);
  [[nodiscard]] bool count_action();
  [[nodiscard]] bool is_answered_at_once(const EventBody& body) const;
  [[nodiscard]] bool count_bytes(const EventBody& body, const std::source_location& where);
  void require_fit(const EventBody& body) const;
  void require_level(const EventBody& body) const;
  void require_input(const EventBody& body) const;
  [[nodiscard]] bool fits_or_throws(const Payload& input, const std::optional<std::string>& version,
                                    const std::source_location& where);
  [[nodiscard]] InstanceId child_id() const;
  EventId schedule_recorded_value(detail::Leaf& leaf, detail::RecordedValue value);
  [[nodiscard]] Payload make_value(detail::RecordedValue value);

  // The engine ends the execution.
  void condemn(const TurnInput& input);
  void stop(Failure failure);
  void mismatch(EventId event, const std::string& recorded, const std::string& now,
                const std::source_location* where);
  void impose_failure();
  void tear_down() noexcept;

  // outcome.cpp
  [[nodiscard]] CancelReason terminal_reason() const;
  [[nodiscard]] TurnOutcome finish_turn();
  void send_timer_again(TurnOutcome& outcome);
  void fill_end(TurnOutcome& outcome) const;
  void send_end(TurnOutcome& outcome);
  void send_next(TurnOutcome& outcome, const Continued& next);
  void fill_effects(TurnOutcome& outcome, const Event& event, EventId first_new) const;
  void terminate_cancelled_children(TurnOutcome& outcome, EventId first_new) const;
  [[nodiscard]] OutboundMessage start_of(const event::SubOrchestrationScheduled& child, EventId event) const;
  [[nodiscard]] ParentLink link_to(EventId event) const;

  // Fixed at construction.
  ExecutionIdentity identity_;
  std::shared_ptr<const OrchestrationHandler> handler_;
  const ExecutionOptions options_;
  OrchestrationContext context_;

  // The execution so far.
  std::string name_;
  std::string version_;
  std::uint32_t engine_version_ = duramen::engine_version;
  TimePoint started_at_;
  std::optional<ParentLink> parent_;
  std::uint32_t depth_ = 0;
  std::uint64_t events_before_ = 0;
  std::uint32_t max_depth_ = default_max_depth;
  std::size_t max_payload_bytes_ = default_payload_limit;
  std::optional<std::string> requested_by_;
  EventId last_event_id_;
  bool graceful_ = false;
  std::optional<event::OrchestrationCancelRequested> cancelling_;
  Schedules schedules_;
  Mailboxes mailboxes_;
  std::map<EventId, InstanceId> children_;  // of open sub-orchestrations
  std::map<EventId, TimePoint> timers_;     // that code waits for, with their due times
  // Timers that code waited for after a replay, and that were not sent again since.
  std::set<std::pair<TimePoint, EventId>> unsure_timers_;
  std::optional<std::string> custom_status_;
  KeyValues key_values_;
  std::optional<End> end_;
  // The end of the code, while dropped Tasks inside a shield still run.
  std::optional<End> fixed_end_;
  // Set if the engine ended the turn: mismatch, limit, corrupt history.
  std::optional<Failure> stopped_;

  // Recorded history being replayed.
  std::span<const Event> recorded_;
  std::size_t cursor_ = 0;
  bool replaying_ = false;

  // This turn.
  TimePoint now_;
  std::uint64_t entropy_ = 0;
  std::vector<Event> delta_;
  std::vector<std::size_t> segments_;
  std::vector<EventId> dropped_timers_;
  std::vector<TraceLine> traces_;
  std::vector<std::string> warnings_;
  std::vector<std::size_t> taken_;
  std::optional<event::OrchestrationCancelRequested> early_cancel_;  // becomes part of the beginning
  std::size_t early_cancel_at_ = 0;
  std::size_t ignored_ = 0;
  std::size_t replayed_ = 0;
  std::size_t bytes_ = 0;  // of delta_

  // This segment.
  std::size_t actions_ = 0;
  std::size_t interruptions_ = 0;
  std::size_t action_bytes_ = 0;
  std::size_t largest_action_bytes_ = 0;
  bool segment_open_ = false;
  std::size_t traces_before_ = 0;
  std::map<EventId, Drop> cancels_;
  std::optional<Continued> continue_;

  // Live code. Declared last: frames are destroyed before the members they refer to.
  bool torn_down_ = false;
  std::size_t calls_after_stop_ = 0;
  std::optional<CancelReason> drop_reason_;
  std::optional<std::source_location> last_action_;  // place of the last action of the code
  std::optional<Refusal> refused_;                   // the last call that threw
  std::uint64_t completions_ = 0;
  detail::WaiterList ready_;
  std::unordered_map<EventId, detail::Leaf*> leaves_;
  LiveTasks tasks_{*this};
  std::optional<Task<Payload>> root_;
};

}  // namespace duramen::inline v0::core
