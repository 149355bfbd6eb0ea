// Push: those who listen are told. Hints may be late, so these cases wait for them, for real and not for
// long.
#include "testing/conformance/driver.hpp"

#include <condition_variable>
#include <mutex>

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

class Recorder final : public ProviderListener {
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

  bool hears_orchestrator_work() {
    return wait([&] { return orchestrator_ > 0; });
  }
  bool hears_worker_work() {
    return wait([&] { return worker_ > 0; });
  }
  bool hears_stolen() {
    return wait([&] { return stolen_calls_ > 0; });
  }
  bool hears_change_of(const InstanceId& id) {
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
    told_.notify_all();
  }
  template <class Condition>
  bool wait(Condition condition) {
    std::unique_lock lock(mutex_);
    return told_.wait_for(lock, 5s, condition);
  }

  std::mutex mutex_;
  std::condition_variable told_;
  int orchestrator_ = 0, worker_ = 0, stolen_calls_ = 0, unnamed_changes_ = 0, calls_ = 0;
  std::vector<StolenLease> stolen_;
  std::vector<InstanceId> changed_;
};

void push_tells_of_orchestrator_work(Driver& d) {
  Recorder recorder;
  const auto subscription = d.store.subscribe(d.other, recorder);
  d.start("a");
  d.check.that(recorder.hears_orchestrator_work(), "a start");
  TurnCommit first = d.turn(d.fetch_one());
  first.events = {started(), scheduled(2)};
  first.new_activities = {Driver::activity(d.info("a").value(), 2)};
  d.must_commit(first);
  recorder.forget();
  d.send("a", raise("x"));
  d.check.that(recorder.hears_orchestrator_work(), "a message");
  d.must_commit(d.turn(d.fetch_one()));
  recorder.forget();
  d.ack(Driver::completion(d.fetch_one_work()));
  d.check.that(recorder.hears_orchestrator_work(), "a completion");
  TurnCommit sends = d.turn(d.fetch_one());
  sends.messages = {{"b", message::StartOrchestration{.orchestration = "Orch"}}};
  recorder.forget();
  d.must_commit(sends);
  d.check.that(recorder.hears_orchestrator_work(), "a child's start");
}

void push_tells_of_worker_work(Driver& d) {
  Recorder recorder;
  const auto subscription = d.store.subscribe(d.other, recorder);
  d.running("a", 1);
  d.check.that(recorder.hears_worker_work(), "a new row");
}

void push_tells_of_changed_instances(Driver& d) {
  Recorder recorder;
  const auto subscription = d.store.subscribe({}, recorder);
  d.running("a");
  d.check.that(recorder.hears_change_of("a"), "a turn");
  recorder.forget();
  d.must_commit(d.fused("b"));
  d.check.that(recorder.hears_change_of("b"), "a fused start");
  recorder.forget();
  d.start("c");
  d.check.that(recorder.hears_change_of("c"), "a start");
  recorder.forget();
  d.remove("c", DeleteMode::force);
  d.check.that(recorder.hears_change_of("c"), "a deletion");
}

void push_tells_of_work_that_was_given_back(Driver& d) {
  d.running("a", 1);
  const LeasedInstance item = d.woken("a");
  const LeasedActivity work = d.fetch_one_work();
  Recorder recorder;
  const auto subscription = d.store.subscribe(d.other, recorder);
  d.abandon(item);
  d.check.that(recorder.hears_orchestrator_work(), "a turn");
  d.abandon(work);
  d.check.that(recorder.hears_worker_work(), "an activity");
}

void push_tells_the_owner_of_stolen_leases(Driver& d) {
  d.running("a", 1);
  const auto held = d.fetch_work_as(d.other);
  if (held.size() != 1) d.stop("an activity to hold");
  Recorder owner;
  Recorder committer;
  Recorder bystander;
  const auto s1 = d.store.subscribe(d.other, owner);
  const auto s2 = d.store.subscribe(d.node, committer);
  const auto s3 = d.store.subscribe("node-c", bystander);
  TurnCommit commit = d.turn(d.woken("a"));
  commit.cancelled_activities = {{EventId{2}, CancelReason::select_loser}};
  d.must_commit(commit);
  d.check.that(owner.hears_stolen(), "the owner is told");
  auto stolen = owner.stolen();
  if (stolen.empty()) stolen = d.stolen_from(d.other);
  d.check.that(stolen.size() == 1 && stolen[0].lease == held[0].lease && stolen[0].owner == d.other &&
                   stolen[0].reason == CancelReason::select_loser,
               "what the owner is told, or can read");
  d.check.that(committer.stolen().empty() && bystander.stolen().empty(), "nobody else is told");
}

/// Tells what its owner hears, or can read then, of a lease that was taken away while it listened.
template <class Take>
void expect_owner_hears(Driver& d, const LeasedActivity& held, CancelReason reason, Take take) {
  Recorder owner;
  Recorder bystander;
  const auto s1 = d.store.subscribe(d.node, owner);
  const auto s2 = d.store.subscribe(d.other, bystander);
  take();
  d.check.that(owner.hears_stolen(), "the owner is told");
  auto stolen = owner.stolen();
  if (stolen.empty()) stolen = d.stolen_from(d.node);
  d.check.that(stolen.size() == 1 && stolen[0].lease == held.lease && stolen[0].reason == reason,
               "what the owner is told, or can read");
  d.check.that(bystander.stolen().empty(), "nobody else is told");
}

void push_tells_the_owner_of_a_timeout(Driver& d) {
  d.running("a");
  d.schedule("a", {limited({.start_to_close = 10s})});
  const LeasedActivity held = d.fetch_one_work();
  d.advance(10s);
  expect_owner_hears(d, held, CancelReason::timeout, [&] { d.sweep(); });
  Recorder recorder;
  d.schedule("a", {limited({.schedule_to_start = 10s})});
  d.advance(10s);
  const auto subscription = d.store.subscribe(d.other, recorder);
  d.sweep();
  d.check.that(recorder.hears_orchestrator_work(), "those who run turns are told of the failure");
}

void push_tells_the_owner_of_a_deletion(Driver& d) {
  d.running("a", 1);
  const LeasedActivity held = d.fetch_one_work();
  expect_owner_hears(d, held, CancelReason::instance_deleted, [&] { d.remove("a", DeleteMode::force); });
}

void an_ended_subscription_is_silent(Driver& d) {
  Recorder recorder;
  auto subscription = d.store.subscribe(d.node, recorder);
  d.start("a");
  d.check.that(recorder.hears_orchestrator_work(), "while it lasts");
  subscription.reset();
  const int before = recorder.calls();
  d.start("b");
  d.send("a", raise("x"));
  d.check.equal(recorder.calls(), before, "calls after its end");
}

constexpr ConformanceCase cases[] = {
    {"push_tells_of_orchestrator_work", "Starts, messages and completions wake those who run turns.",
     told<push_tells_of_orchestrator_work>},
    {"push_tells_of_worker_work", "New activities wake those who run them.", told<push_tells_of_worker_work>},
    {"push_tells_of_changed_instances", "Commits wake those who wait for an instance.",
     told<push_tells_of_changed_instances>},
    {"push_tells_of_work_that_was_given_back", "What is given back is work again.",
     told<push_tells_of_work_that_was_given_back>},
    {"push_tells_the_owner_of_a_timeout", "Whoever swept, the owner is told.",
     told<push_tells_the_owner_of_a_timeout>},
    {"push_tells_the_owner_of_a_deletion", "Whoever deleted, the owner is told.",
     told<push_tells_the_owner_of_a_deletion>},
    {"push_tells_the_owner_of_stolen_leases", "Only the owner of a stolen lease is told.",
     told<push_tells_the_owner_of_stolen_leases>},
    {"an_ended_subscription_is_silent", "After its end no callback comes.",
     told<an_ended_subscription_is_silent>},
};

}  // namespace

std::span<const ConformanceCase> push_cases() { return cases; }

}  // namespace duramen::inline v0::testing
