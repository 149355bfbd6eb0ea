// The steps of conformance cases: one call per step, with defaults for everything a case does not test.
#pragma once

#include <duramen/provider.hpp>
#include <duramen/testing/conformance.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace duramen::inline v0::testing {

/// Thrown to end a case whose next steps would make no sense. The reason is already reported.
struct CaseStopped {};

// -- events, activities and messages with defaults ---

[[nodiscard]] Event make_event(std::uint64_t id, EventBody body, std::uint64_t source = 0);
[[nodiscard]] Event started(std::uint64_t id = 1);
[[nodiscard]] Event scheduled(std::uint64_t id);
[[nodiscard]] Event raised(std::uint64_t id, std::string name);

[[nodiscard]] ActivityRequest plain(std::string name = "Act");
[[nodiscard]] ActivityRequest in_session(std::string session);
[[nodiscard]] ActivityRequest tagged(std::string tag);
[[nodiscard]] ActivityRequest limited(ActivityOptions limits);

[[nodiscard]] message::ExternalRaised raise(std::string name, std::string data = "");
[[nodiscard]] OutboundMessage timer(const InstanceId& target, std::uint64_t event, TimePoint due,
                                    std::uint64_t execution = 1);
/// External events by name, timers by number, cancels, and "?" for anything else: "a b t3 cancel ?".
[[nodiscard]] std::string names_of(const std::vector<InboxMessage>& messages);
/// The ids: "a b".
[[nodiscard]] std::string ids_of(const std::vector<InstanceInfo>& instances);
/// The activity numbers: "2 3".
[[nodiscard]] std::string numbers_of(const std::vector<LeasedActivity>& items);

class Driver {
 public:
  Driver(StoreUnderTest& under_test, Check& c)
      : check(c), store(under_test.provider()), under_test_(under_test) {}

  Check& check;
  Provider& store;
  const NodeId node{"node-a"};
  const NodeId other{"node-b"};
  Duration lease = std::chrono::seconds{30};

  // -- time ---
  void advance(Duration by) { under_test_.advance(by); }
  bool jump_wall(Duration by) { return under_test_.jump_wall(by); }
  [[nodiscard]] TimePoint now() const { return store.clock().now(); }

  // -- instances and messages ---
  StartOutcome start(const InstanceId& id, std::string name = "Orch", std::string input = "in",
                     IdReuse reuse = IdReuse::reject);
  EnqueueOutcome send(const InstanceId& target, MessageBody item, TimePoint visible_at = {},
                      std::optional<std::string> message_id = {});
  EnqueueOutcome send(const OutboundMessage& message);
  std::optional<InstanceInfo> info(const InstanceId& id);
  KeyValues key_values(const InstanceId& id);
  std::vector<Event> history(const InstanceId& id, std::uint64_t execution = 1, std::uint64_t after = 0);

  // -- turns ---
  TurnBatch fetch_batch(TurnFetch request);
  std::vector<LeasedInstance> fetch(std::size_t limit = 16);
  std::vector<LeasedInstance> fetch_as(const NodeId& caller, std::size_t limit = 16);
  /// The instances that a node with this code fetches. They are released afterwards.
  std::size_t count_fetched_with(std::vector<RegisteredOrchestration> code);
  /// The only instance with something to do; stops the case if there are none or several.
  LeasedInstance fetch_one(Check::Where where = Check::Where::current());
  void expect_nothing_to_do(Check::Where where = Check::Where::current());
  /// Checks that `next_due` of a fetch is not later than `when`.
  void expect_due(const std::optional<TimePoint>& next_due, TimePoint when,
                  Check::Where where = Check::Where::current());

  /// A turn of `node` for a fetched instance, still without effects.
  TurnCommit turn(const LeasedInstance& item);
  /// The same, but it takes only the first messages.
  TurnCommit turn_of_first(const LeasedInstance& item, std::size_t messages);
  /// A turn of `node` that has no lease yet and expects `last_event_id`.
  TurnCommit conditional(const InstanceInfo& instance, EventId last_event_id);
  /// A start and its first turn in one commit.
  TurnCommit fused(const InstanceId& id, std::string name = "Orch", std::string input = "in",
                   IdReuse reuse = IdReuse::reject);
  CommitToken new_commit_token() { return CommitToken{++last_token_}; }

  CommitResult commit(const TurnCommit& commit);
  std::vector<CommitResult> commit_all(const std::vector<TurnCommit>& commits);
  /// Commits; stops the case if the store refuses.
  CommitResult must_commit(const TurnCommit& commit, Check::Where where = Check::Where::current());
  void release(const LeasedInstance& item, Duration delay = {}, bool count_attempt = true);
  bool renew(const LeasedInstance& item, Duration extend = std::chrono::seconds{30});

  // -- steps that many cases begin with ---

  /// Starts an instance and commits its first turn: event 1 and `activities` more, each with a worker row.
  InstanceInfo running(const InstanceId& id, int activities = 0,
                       Check::Where where = Check::Where::current());
  /// Wakes the instance and fetches it.
  LeasedInstance woken(const InstanceId& id, Check::Where where = Check::Where::current());
  /// A turn of the running instance that schedules these activities, with the next event ids.
  void schedule(const InstanceId& id, std::vector<ActivityRequest> activities,
                Check::Where where = Check::Where::current());
  /// A running child, started by a turn of its running parent.
  InstanceInfo child(const InstanceId& parent, const InstanceId& id,
                     Check::Where where = Check::Where::current());
  /// Four running instances: "root", its children "left" and "right", and "leaf", a child of "left".
  void family();
  /// Ends a running instance.
  void finish(const InstanceId& id, Check::Where where = Check::Where::current());
  /// Ends the current execution of a running instance and begins the next.
  void continue_as_new(const InstanceId& id, Check::Where where = Check::Where::current());
  /// A turn of `node` that ends the instance.
  TurnCommit final_turn(const LeasedInstance& item);
  /// A turn of `node` that ends the execution by continue-as-new.
  TurnCommit continuing_turn(const LeasedInstance& item);
  /// The first turn of the execution that `item` is about to begin.
  TurnCommit next_execution(const LeasedInstance& item);
  /// Starts an instance and completes it.
  InstanceInfo finished(const InstanceId& id, Check::Where where = Check::Where::current());

  // -- activities ---
  static NewActivity activity(const InstanceInfo& instance, std::uint64_t id, std::uint64_t execution = 1);
  ActivityBatch fetch_activity_batch(ActivityFetch request);
  std::vector<LeasedActivity> fetch_activities(std::size_t limit = 16);
  std::vector<LeasedActivity> fetch_activities_as(const NodeId& caller, std::size_t limit = 16);
  LeasedActivity fetch_one_activity(Check::Where where = Check::Where::current());
  /// Fetches one, and reports that it begins.
  LeasedActivity begin_one_activity(Check::Where where = Check::Where::current());
  void report(const ActivityLease& lease, ActivityProgress progress);
  void expect_no_activities(Check::Where where = Check::Where::current());

  static ActivityAck completion(const LeasedActivity& item, std::string result = "done");
  AckResult ack(const ActivityAck& ack);
  RenewResult renew(const ActivityLease& lease, Duration extend = std::chrono::seconds{30});
  void release(const LeasedActivity& item, Duration delay = {}, bool count_attempt = true);
  std::vector<StolenLease> stolen_from(const NodeId& caller);
  /// A renewal with a heartbeat.
  RenewResult beat(const ActivityLease& lease, std::optional<std::string> details = {});

  // -- sweeps and management ---
  SweepResult sweep(std::size_t limit = 100);
  /// ids_of() the matching instances, oldest first.
  std::string list(const InstanceFilter& filter);
  std::vector<ExecutionInfo> executions(const InstanceId& id);
  DeleteResult remove(const InstanceId& id, DeleteMode mode = DeleteMode::finished);
  PruneResult prune(const InstanceId& id, const PruneOptions& options);
  QueueDepths depths();
  StoreMetrics metrics();
  InstanceCount count(Incarnation after, std::size_t limit);

  [[noreturn]] void stop(std::string_view why, Check::Where where = Check::Where::current());
  /// The value of a call; stops the case if the store failed.
  template <class T>
  T get(Result<T> result, Check::Where where = Check::Where::current()) {
    if (!result) stop("the store failed: " + result.error().operation + ": " + result.error().message, where);
    return std::move(*result);
  }

 private:
  StoreUnderTest& under_test_;
  std::uint64_t last_token_ = 1000;
};

template <void (*steps)(Driver&)>
void run_steps(StoreUnderTest& store, Check& check) {
  Driver driver{store, check};
  steps(driver);
}

/// A table entry: the function of the case, then `.reference` and `.difference` if there are any. The name of
/// the function is the name of the case.
#define DURAMEN_CASE(steps, ...) {.name = #steps, .run = run_steps<steps> __VA_OPT__(, ) __VA_ARGS__}

// -- the chapters ---
std::span<const ConformanceCase> activity_cases();
std::span<const ConformanceCase> activity_lease_cases();
std::span<const ConformanceCase> attempt_cases();
std::span<const ConformanceCase> cancellation_cases();
std::span<const ConformanceCase> cancel_cases();
std::span<const ConformanceCase> cancel_descent_cases();
std::span<const ConformanceCase> clock_cases();
std::span<const ConformanceCase> commit_cases();
std::span<const ConformanceCase> concurrency_cases();
std::span<const ConformanceCase> conditional_cases();
std::span<const ConformanceCase> content_cases();
std::span<const ConformanceCase> counting_cases();
std::span<const ConformanceCase> custom_status_cases();
std::span<const ConformanceCase> deletion_cases();
std::span<const ConformanceCase> execution_cases();
std::span<const ConformanceCase> filter_cases();
std::span<const ConformanceCase> finding_cases();
std::span<const ConformanceCase> heartbeat_cases();
std::span<const ConformanceCase> incarnation_cases();
std::span<const ConformanceCase> key_value_cases();
std::span<const ConformanceCase> lease_cases();
std::span<const ConformanceCase> limit_cases();
std::span<const ConformanceCase> message_cases();
std::span<const ConformanceCase> node_cases();
std::span<const ConformanceCase> order_cases();
std::span<const ConformanceCase> overdue_cases();
std::span<const ConformanceCase> pruning_cases();
std::span<const ConformanceCase> push_cases();
std::span<const ConformanceCase> replay_token_cases();
std::span<const ConformanceCase> session_cases();
std::span<const ConformanceCase> start_cases();
std::span<const ConformanceCase> tag_cases();
std::span<const ConformanceCase> version_cases();

}  // namespace duramen::inline v0::testing
