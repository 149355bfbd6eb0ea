// Turns: where messages and finished activities meet the coroutine, and its decisions become commits.
//
// An instance this node works on has a slot. A slot holds the live coroutine between turns (it is resident),
// at most one uncommitted turn, and what arrived meanwhile. All on the loop.
//
//   finished activity ─┐                               ┌─ committed ─▶ activities begin, the next turn,
//   fetched messages ──┼─▶ slot ─▶ run_turn ─▶ commit ─┤               waiters told
//   start, cancel ─────┘                               └─ refused ───▶ the coroutine ran ahead: thrown away;
//                                                                      the store hands the messages out again
#pragma once

#include "core/execution.hpp"
#include "runtime/activities.hpp"
#include "runtime/committer.hpp"
#include "runtime/instruments.hpp"
#include "runtime/log.hpp"
#include "runtime/watchdog.hpp"
#include "store/local_hub.hpp"
#include <duramen/env.hpp>
#include <duramen/function.hpp>
#include <duramen/provider.hpp>
#include <duramen/registry.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace duramen::inline v0::runtime {

struct TurnOptions {
  NodeId node;
  std::size_t max_resident = 10'000;
  std::size_t max_actions = 10'000;
  std::size_t max_payload_bytes = default_payload_limit;
  Duration activity_lease{};
  TagFilter tags;
  std::uint32_t max_attempts = 10;
  Duration unregistered_pause{};
  Duration longest_unregistered_pause{};
};

class Turns {
 public:
  struct Events {
    UniqueFunction<void(TimePoint)> timer_created;     ///< so that it is looked for when it is due
    UniqueFunction<void(TimePoint)> activity_limited;  ///< an activity may be overdue then
    UniqueFunction<void(const StolenLease&, LeaseTime decided)> lease_stolen;
    UniqueFunction<void(const InstanceId&, const detail::EndedInstance&)> ended;
  };
  Turns(Env& env, Provider& provider, const Registry& registry, Committer& committer, Activities& activities,
        TurnOptions options, Events events, const Log& log, const Instruments& instruments,
        Watchdog& watchdog);

  /// Creates the instance and runs its first turn, in one commit.
  void start(StartRequest request, UniqueFunction<void(Result<StartOutcome>)> done);
  /// Runs the turn that cancels an instance at hand, and stores both at once. False if that cannot be:
  /// nothing was stored.
  void cancel(const InstanceId& instance, const message::CancelInstance& request,
              UniqueFunction<void(bool stored)> done);
  /// Takes over instances that the store leased to us.
  void take(std::vector<LeasedInstance> items);
  /// Takes the end of one of our activities: straight into a turn if its instance is at hand, else by way of
  /// the store.
  void take(FinishedActivity activity);

  /// No more activities are begun here: what turns schedule is left for other nodes.
  void stop_dispatching() noexcept { dispatching_ = false; }
  [[nodiscard]] std::size_t busy() const noexcept { return busy_; }

 private:
  struct Slot {
    std::unique_ptr<core::Execution> execution;  // the resident coroutine, if there is one
    bool busy = false;                           // a turn of it is being prepared or stored
    std::vector<FinishedActivity> finished;      // of our activities, waiting for the turn under way
    std::optional<LeasedInstance> fetched;       // likewise
    std::list<InstanceId>::iterator recent;
  };
  using Slots = std::unordered_map<InstanceId, Slot>;
  /// The store refused the turn that would have followed this event.
  struct RefusedTurn {
    Incarnation incarnation;
    ExecutionId execution;
    EventId after;
    std::string why;
  };

  /// A turn that was run and is not stored yet.
  struct Turn {
    TurnCommit commit;
    std::vector<core::TraceLine> traces;  // written when it is
    bool condemned = false;               // it ends the instance without its code
    std::size_t replayed = 0;
    std::string name;  // for counting, like the rest
    std::string version;
    TimePoint began;
  };
  /// What is needed of it when the store has answered.
  struct Stored {
    ExecutionId execution;
    InstanceChange change;
    std::vector<NewActivity> begun;  // born leased to us
    std::vector<TimePoint> timers;
    std::optional<Duration> shortest_limit;  // of the activities it scheduled
    std::vector<CancelledActivity> cancelled_activities;
    std::optional<CancelReason> cancel_rest;
    std::vector<core::TraceLine> traces;
    LeaseTime sent;
    bool condemned = false;
    std::size_t replayed = 0;
    bool resident = false;
    std::string name;
    std::string version;
    TimePoint began;
    EventId last_event;
    std::string_view begun_by;          // if this turn began the execution
    std::vector<std::string> children;  // orchestrations it called
  };
  /// Copies what counting needs, if anybody counts.
  static void note(const Turn& turn, Stored& stored);

  Slot& slot_for(const InstanceId& instance);
  void set_busy(Slot& slot, bool busy);
  void discard(const InstanceId& instance);
  void evict();

  void begin_fetched(const InstanceId& instance, LeasedInstance item);
  void read_histories();
  void history_read(LeasedInstance item, Result<std::vector<Event>> history);
  void run_fetched(const InstanceId& instance, LeasedInstance item, std::vector<Event> history);
  void run_finished(const InstanceId& instance, Slot& slot, std::vector<FinishedActivity> finished);
  void next(const InstanceId& instance);
  void condemn(const InstanceId& instance, LeasedInstance item, Failure failure);
  /// Whether a delivery that came to nothing counts towards `max_attempts`.
  enum class Attempt : bool { uncounted, counted };
  void give_back(const TurnLease& lease, Duration delay, Attempt attempt);
  void give_up(const InstanceId& instance, const LeasedInstance& item, Duration delay, Attempt attempt);
  [[nodiscard]] Duration unregistered_pause(const InstanceId& instance);
  void send_to_store(FinishedActivity activity);

  [[nodiscard]] Turn run(core::Execution& execution, std::span<const Event> history,
                         std::span<const MessageBody> messages, const Failure* condemned = nullptr);
  void count(const Stored& turn) const;
  [[nodiscard]] std::uint64_t random_token();
  void dispatch_leases(TurnCommit& commit);
  enum class Urgency : bool { usual, urgent };
  void commit(const InstanceId& instance, Turn turn, UniqueFunction<void(const Result<CommitResult>&)> done,
              Urgency urgency = Urgency::usual);
  void committed(const InstanceId& instance, Stored& turn, CommitResult& result);
  void refused(TurnCommit& commit, const std::string& why, bool condemned);
  [[nodiscard]] std::size_t max_remembered() const;
  [[nodiscard]] std::optional<Failure> take_refusal(const LeasedInstance& item);
  [[nodiscard]] core::ExecutionOptions execution_options() const;

  // Fixed at construction.
  Env& env_;
  Provider& provider_;
  const Registry& registry_;
  Committer& committer_;
  Activities& activities_;
  const TurnOptions options_;
  Events events_;
  const Log& log_;
  const Instruments& instruments_;
  Watchdog& watchdog_;

  // The loop's.
  Slots slots_;
  std::vector<LeasedInstance> to_read_;       // fetched items whose history is needed, until it is asked for
  std::vector<HistoryRequest> to_read_from_;  // of each, from where
  std::list<InstanceId> recent_;              // least recently used first
  std::size_t busy_ = 0;
  std::unordered_map<InstanceId, Duration> unregistered_;  // the last pause of each
  std::unordered_map<InstanceId, RefusedTurn> refused_;    // by the store: they fail when they are fetched
  bool dispatching_ = true;
};

}  // namespace duramen::inline v0::runtime
