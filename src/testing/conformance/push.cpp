// Push: listeners are notified. A notification may be late, so these cases wait for it in real time, briefly.
#include "testing/conformance/driver.hpp"

#include <condition_variable>
#include <mutex>

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

class PushRecorder final : public ProviderListener {
 public:
  void turns_ready() override {
    note([&] { ++orchestrator_; });
  }
  void activities_ready() override {
    note([&] { ++worker_; });
  }
  void leases_stolen(std::span<const StolenLease> stolen) override {
    note([&] {
      ++stolen_calls_;
      stolen_.insert(stolen_.end(), stolen.begin(), stolen.end());
    });
  }
  void stolen_leases_pending() override {
    note([&] { ++stolen_calls_; });
  }
  void instances_changed(std::span<const ChangedInstance> instances) override {
    note([&] {
      for (const ChangedInstance& changed : instances) changed_.push_back(changed.instance);
    });
  }
  void unknown_instances_changed() override {
    note([&] { ++unnamed_changes_; });
  }

  bool receives_turns_ready() {
    return wait([&] { return orchestrator_ > 0; });
  }
  bool receives_activities_ready() {
    return wait([&] { return worker_ > 0; });
  }
  bool receives_stolen() {
    return wait([&] { return stolen_calls_ > 0; });
  }
  bool receives_change_of(const InstanceId& id) {
    return wait([&] {
      return unnamed_changes_ > 0 || std::find(changed_.begin(), changed_.end(), id) != changed_.end();
    });
  }
  std::vector<StolenLease> stolen() {
    std::lock_guard lock(mutex_);
    return stolen_;
  }
  int calls() {
    std::lock_guard lock(mutex_);
    return calls_;
  }
  void forget() {
    std::lock_guard lock(mutex_);
    orchestrator_ = worker_ = stolen_calls_ = unnamed_changes_ = calls_ = 0;
    stolen_.clear();
    changed_.clear();
  }

 private:
  template <class F>
  void note(F f) {
    std::lock_guard lock(mutex_);
    ++calls_;
    f();
    noted_.notify_all();
  }
  template <class Condition>
  bool wait(Condition condition) {
    std::unique_lock lock(mutex_);
    return noted_.wait_for(lock, 5s, condition);
  }

  std::mutex mutex_;
  std::condition_variable noted_;
  int orchestrator_ = 0, worker_ = 0, stolen_calls_ = 0, unnamed_changes_ = 0, calls_ = 0;
  std::vector<StolenLease> stolen_;
  std::vector<InstanceId> changed_;
};

void push_reports_starts_messages_and_completions(Driver& d) {
  PushRecorder recorder;
  const auto subscription = d.store.subscribe(d.other, recorder);
  d.start("a");
  d.check.that(recorder.receives_turns_ready(), "a start");
  TurnCommit first = d.turn(d.fetch_one());
  first.events = {started(), scheduled(2)};
  first.new_activities = {Driver::activity(d.info("a").value(), 2)};
  d.must_commit(first);
  recorder.forget();
  d.send("a", raise("x"));
  d.check.that(recorder.receives_turns_ready(), "a message");
  d.must_commit(d.turn(d.fetch_one()));
  recorder.forget();
  d.ack(Driver::completion(d.fetch_one_activity()));
  d.check.that(recorder.receives_turns_ready(), "a completion");
  TurnCommit sends = d.turn(d.fetch_one());
  sends.messages = {{"b", message::StartOrchestration{.orchestration = "Orch"}}};
  recorder.forget();
  d.must_commit(sends);
  d.check.that(recorder.receives_turns_ready(), "a child's start");
}

void push_reports_new_activities(Driver& d) {
  PushRecorder recorder;
  const auto subscription = d.store.subscribe(d.other, recorder);
  d.running("a", 1);
  d.check.that(recorder.receives_activities_ready(), "a new row");
}

void push_reports_changed_instances(Driver& d) {
  PushRecorder recorder;
  const auto subscription = d.store.subscribe({}, recorder);
  d.running("a");
  d.check.that(recorder.receives_change_of("a"), "a turn");
  recorder.forget();
  d.must_commit(d.fused("b"));
  d.check.that(recorder.receives_change_of("b"), "a fused start");
  recorder.forget();
  d.start("c");
  d.check.that(recorder.receives_change_of("c"), "a start");
  recorder.forget();
  d.remove("c", DeleteMode::force);
  d.check.that(recorder.receives_change_of("c"), "a deletion");
}

void push_reports_released_turns_and_activities(Driver& d) {
  d.running("a", 1);
  const LeasedInstance item = d.woken("a");
  const LeasedActivity activity = d.fetch_one_activity();
  PushRecorder recorder;
  const auto subscription = d.store.subscribe(d.other, recorder);
  d.release(item);
  d.check.that(recorder.receives_turns_ready(), "a turn");
  d.release(activity);
  d.check.that(recorder.receives_activities_ready(), "an activity");
}

void push_reports_stolen_leases_only_to_their_owner(Driver& d) {
  d.running("a", 1);
  const auto held = d.fetch_activities_as(d.other);
  if (held.size() != 1) d.stop("an activity to hold");
  PushRecorder owner;
  PushRecorder committer;
  PushRecorder bystander;
  const auto s1 = d.store.subscribe(d.other, owner);
  const auto s2 = d.store.subscribe(d.node, committer);
  const auto s3 = d.store.subscribe("node-c", bystander);
  TurnCommit commit = d.turn(d.woken("a"));
  commit.cancelled_activities = {{EventId{2}, CancelReason::select_loser}};
  d.must_commit(commit);
  d.check.that(owner.receives_stolen(), "the owner is notified");
  auto stolen = owner.stolen();
  if (stolen.empty()) stolen = d.stolen_from(d.other);
  d.check.that(stolen.size() == 1 && stolen[0].lease == held[0].lease && stolen[0].owner == d.other &&
                   stolen[0].reason == CancelReason::select_loser,
               "the lease that the owner receives or reads");
  d.check.that(committer.stolen().empty() && bystander.stolen().empty(), "no other node is notified");
}

/// Checks that the owner is notified of a lease that `take` steals, and receives or reads it.
template <class Take>
void expect_owner_notified(Driver& d, const LeasedActivity& held, CancelReason reason, Take take) {
  PushRecorder owner;
  PushRecorder bystander;
  const auto s1 = d.store.subscribe(d.node, owner);
  const auto s2 = d.store.subscribe(d.other, bystander);
  take();
  d.check.that(owner.receives_stolen(), "the owner is notified");
  auto stolen = owner.stolen();
  if (stolen.empty()) stolen = d.stolen_from(d.node);
  d.check.that(stolen.size() == 1 && stolen[0].lease == held.lease && stolen[0].reason == reason,
               "the lease that the owner receives or reads");
  d.check.that(bystander.stolen().empty(), "no other node is notified");
}

void push_reports_a_timeout_to_the_owner(Driver& d) {
  d.running("a");
  d.schedule("a", {limited({.start_to_close = 10s})});
  const LeasedActivity held = d.begin_one_activity();
  d.advance(10s);
  expect_owner_notified(d, held, CancelReason::timeout, [&] { d.sweep(); });
  PushRecorder recorder;
  d.schedule("a", {limited({.schedule_to_start = 10s})});
  d.advance(10s);
  const auto subscription = d.store.subscribe(d.other, recorder);
  d.sweep();
  d.check.that(recorder.receives_turns_ready(), "the failure makes a turn ready");
}

void push_reports_a_deletion_to_the_owner(Driver& d) {
  d.running("a", 1);
  const LeasedActivity held = d.fetch_one_activity();
  expect_owner_notified(d, held, CancelReason::instance_deleted, [&] { d.remove("a", DeleteMode::force); });
}

void an_ended_subscription_receives_no_calls(Driver& d) {
  PushRecorder recorder;
  auto subscription = d.store.subscribe(d.node, recorder);
  d.start("a");
  d.check.that(recorder.receives_turns_ready(), "while it lasts");
  subscription.reset();
  const int before = recorder.calls();
  d.start("b");
  d.send("a", raise("x"));
  d.check.equal(recorder.calls(), before, "calls after its end");
}

}  // namespace

std::span<const ConformanceCase> push_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(push_reports_starts_messages_and_completions),
      DURAMEN_CASE(push_reports_new_activities),
      DURAMEN_CASE(push_reports_changed_instances),
      DURAMEN_CASE(push_reports_released_turns_and_activities),
      DURAMEN_CASE(push_reports_a_timeout_to_the_owner),
      DURAMEN_CASE(push_reports_a_deletion_to_the_owner),
      DURAMEN_CASE(push_reports_stolen_leases_only_to_their_owner),
      DURAMEN_CASE(an_ended_subscription_receives_no_calls),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
