#include "runtime/node.hpp"

#include "runtime/metered_provider.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace duramen::inline v0::runtime {

namespace {
constexpr std::size_t turns_per_fetch = 256;
constexpr std::size_t activities_per_fetch = 256;
// While this many turns are being stored, the store is busy enough.
constexpr std::size_t busy_turns = 2048;
// A hint may be too early; it is not followed more often than this.
constexpr Duration shortest_wait{5};
constexpr std::size_t overdue_per_sweep = 256;

std::vector<RegisteredOrchestration> registered(const Registry& registry) {
  std::vector<RegisteredOrchestration> all;
  for (auto& [name, versions] : registry.orchestrations()) all.push_back({name, versions});
  return all;
}
}  // namespace

Node::Node(Env& env, Store store, Registry registry, RuntimeOptions options)
    : env_(env),
      store_(std::move(store)),
      instruments_(options.metrics),
      metered_(instruments_.on() ? std::make_shared<MeteredProvider>(store_.provider(), instruments_)
                                 : nullptr),
      provider_(metered_ ? *metered_ : *store_.provider()),
      registry_(std::move(registry)),
      options_(std::move(options)),
      log_(options_.log),
      orchestrations_(registered(registry_)),
      activity_names_(registry_.activity_names()),
      watchdog_(env, options_.slow_turn, log_),
      leases_(
          env, provider_, options_.activity_lease,
          [this](const ActivityLease& lease, const RenewResult& why) {
            env_.loop().post([this, lease, why] { lease_gone(lease, why); });
          },
          log_),
      sessions_(env, provider_, session_owner(), options_.session_lease, options_.session_idle, log_),
      committer_(env, provider_, {options_.max_commit_batch, options_.turn_lease * 2 / 3}, log_,
                 instruments_),
      activities_({options_.node, env, leases_, log_, options_.max_payload_bytes}, registry_,
                  {options_.max_activities, options_.max_abandoned, options_.cancel_grace,
                   options_.max_attempts, options_.activity_lease},
                  instruments_,
                  {[this](FinishedActivity activity) { turns_.take(std::move(activity)); },
                   [this](ActivityRenewal work) { give_back(std::move(work)); },
                   [this] {
                     if (asking_activities_.again) ask_for_activities();
                     check_drained();
                   }}),
      turns_(
          env, provider_, registry_, committer_, activities_,
          {options_.node,
           detail::mutant("keeps_the_last_resident") ? options_.max_resident_instances + 1
                                                     : options_.max_resident_instances,
           options_.max_actions_per_turn, options_.max_payload_bytes, options_.activity_lease, options_.tags,
           options_.max_attempts, options_.unregistered_pause, options_.longest_unregistered_pause},
          {[this](TimePoint due) { wake_at(due); }, [this](TimePoint due) { sweep_at(due); },
           [this](const StolenLease& stolen, LeaseTime decided) {
             if (stolen.owner != options_.node) return;
             activities_.stop(stolen.lease, StopCause::cancelled, stolen.reason, decided);
           },
           [this](const InstanceId& instance, const detail::EndedInstance& end) {
             store_.local_hub()->announce_end(instance, end);
           }},
          log_, instruments_, watchdog_),
      gauges_(env, provider_, *store_.local_hub(), options_.gauge_interval, log_) {}

Node::~Node() { subscription_.reset(); }

void Node::run() {
  subscription_ = provider_.subscribe(options_.node, *this);
  leases_.start();
  env_.loop().post([this] {
    poll();
    sweep();
  });
  if (instruments_.on() && options_.gauge_interval > Duration{})
    env_.loop().post([this] { gauges_.start(); });
}

std::string Node::session_owner() const {
  return options_.session_owner.empty() ? options_.node.value : options_.session_owner;
}

// -- asking the store -----------------------------------------------------------------------------

void Node::hint(Asking& asking, void (Node::*ask)()) {
  if (asking.hinted.exchange(true)) return;
  env_.loop().post([this, &asking, ask] {
    asking.hinted.store(false);
    (this->*ask)();
  });
}

bool Node::begin(Asking& asking) const {
  if (stopping_) return false;
  if (asking.under_way) {
    asking.again = true;
    return false;
  }
  asking.under_way = true;
  asking.again = false;
  return true;
}

void Node::answered(Asking& asking, bool ask_again, void (Node::*ask)()) {
  asking.under_way = false;
  if (asking.again || ask_again) (this->*ask)();
  check_drained();
}

void Node::ask_for_turns() {
  if (orchestrations_.empty() || !begin(asking_turns_)) return;
  if (turns_.busy() >= busy_turns) {
    asking_turns_.under_way = false;
    // Every hint comes here; one timer is enough.
    if (std::exchange(asking_later_, true) && !detail::mutant("every_hint_arms_a_timer")) return;
    env_.loop().post_at(env_.clock().lease_now() + Duration{5}, [this] {
      asking_later_ = false;
      ask_for_turns();
    });
    return;
  }
  env_.run_elsewhere(Lane::store, [this] {
    TurnFetch request;
    request.node = options_.node;
    request.limit = turns_per_fetch;
    request.lease = options_.turn_lease;
    request.min_engine_version = options_.min_engine_version;
    request.max_engine_version = options_.max_engine_version;
    request.orchestrations = orchestrations_;
    auto batch = provider_.fetch_turns(request);
    env_.loop().post([this, batch = std::move(batch)]() mutable { turns_arrived(std::move(batch)); });
  });
}

void Node::turns_arrived(Result<TurnBatch> batch) {
  if (!batch) {
    // Nothing is lost: the next poll asks again.
    log_(LogLevel::warning, "the store was asked for turns in vain", {{"error", batch.error().describe()}});
    return answered(asking_turns_, false, &Node::ask_for_turns);
  }
  if (batch->next_due) wake_at(*batch->next_due);
  const bool more = !batch->items.empty();
  instruments_.fetched(batch->items.size(), 0);
  turns_.take(std::move(batch->items));
  answered(asking_turns_, more, &Node::ask_for_turns);
}

void Node::ask_for_activities() {
  if (activity_names_.empty() || !begin(asking_activities_)) return;
  const std::size_t places = std::min(activities_.free_places(), activities_per_fetch);
  if (places == 0) {
    asking_activities_.under_way = false;
    asking_activities_.again = true;  // asked when a place is free
    return;
  }
  activities_.reserve(places);
  std::optional<SessionClaim> claim;
  if (options_.max_sessions > 0) {
    claim = SessionClaim{session_owner(), options_.session_lease, activities_.active_sessions(),
                         options_.max_sessions};
  }
  env_.run_elsewhere(Lane::store, [this, places, claim = std::move(claim)]() mutable {
    ActivityFetch request;
    request.node = options_.node;
    request.limit = places;
    request.lease = options_.activity_lease;
    request.names = activity_names_;
    request.tags = options_.tags;
    request.sessions = std::move(claim);
    const LeaseTime sent = env_.clock().lease_now();
    auto batch = provider_.fetch_activities(request);
    env_.loop().post([this, places, batch = std::move(batch), sent]() mutable {
      activities_arrived(std::move(batch), sent, places);
    });
  });
}

void Node::activities_arrived(Result<ActivityBatch> batch, LeaseTime sent, std::size_t reserved) {
  const std::size_t needed = batch ? std::min(reserved, batch->items.size()) : 0;
  activities_.release(reserved - needed);
  if (!batch) {
    log_(LogLevel::warning, "the store was asked for activities in vain",
         {{"error", batch.error().describe()}});
    return answered(asking_activities_, false, &Node::ask_for_activities);
  }
  if (batch->next_due) wake_at(*batch->next_due);
  const bool more = !batch->items.empty();
  instruments_.fetched(0, batch->items.size());
  for (std::size_t i = 0; i < batch->items.size(); ++i) {
    LeasedActivity& item = batch->items[i];
    // One by one: one that cannot be read ends here and now, and the turn that follows takes what is free.
    if (i < needed) activities_.release(1);
    if (stopping_) {
      give_back({item.lease});
    } else {
      if (item.request.session_id) sessions_.claimed();
      if (const auto limit = shortest_limit(item.request.options)) sweep_at(env_.clock().now() + *limit);
      activities_.run(std::move(item), sent);
    }
  }
  answered(asking_activities_, more, &Node::ask_for_activities);
}

/// Timers have no push: whoever knows when the next one is due looks for it then.
void Node::wake_at(TimePoint due) {
  const TimePoint now = env_.clock().now();
  due = std::max(due, now + shortest_wait);
  if (wake_ && *wake_ > now && *wake_ <= due) return;
  wake_ = due;
  const LeaseTime when = env_.clock().lease_now() + std::max(due - now, Duration::zero());
  env_.loop().post_at(when, [this, due] {
    // Gone by, even if the clock on the wall is a moment behind: what is found to be due then needs another.
    if (wake_ == due) wake_.reset();
    ask_for_turns();
    ask_for_activities();
  });
}

void Node::poll() {
  if (stopping_) return;
  ask_for_turns();
  ask_for_activities();
  env_.loop().post_at(env_.clock().lease_now() + options_.poll_interval, [this] { poll(); });
}

// -- what others tell us --------------------------------------------------------------------------

void Node::turns_ready() { hint(asking_turns_, &Node::ask_for_turns); }
void Node::activities_ready() { hint(asking_activities_, &Node::ask_for_activities); }

void Node::leases_stolen(std::span<const StolenLease> stolen) {
  std::vector<StolenLease> copy(stolen.begin(), stolen.end());
  env_.loop().post([this, copy = std::move(copy)] {
    for (const StolenLease& lease : copy) activities_.stop(lease.lease, StopCause::cancelled, lease.reason);
  });
}

void Node::stolen_leases_pending() {
  env_.run_elsewhere(Lane::store, [this] { read_stolen(); });
}

void Node::read_stolen() {
  auto stolen = provider_.read_stolen_leases(options_.node);
  if (!stolen) return;  // renewal finds out
  if (!stolen->empty()) leases_stolen(*stolen);
}

void Node::lease_gone(const ActivityLease& lease, const RenewResult& why) {
  const bool cancelled = why.outcome == RenewOutcome::cancelled;
  activities_.stop(lease, cancelled ? StopCause::cancelled : StopCause::lease_lost, why.reason);
}

bool Node::runs(const message::StartOrchestration& start) const {
  return registry_.find_orchestration(start.orchestration, start.version) != nullptr;
}

void Node::start(StartRequest request, UniqueFunction<void(Result<StartOutcome>)> done) {
  env_.loop().post([this, request = std::move(request), done = std::move(done)]() mutable {
    turns_.start(std::move(request), std::move(done));
  });
}

void Node::cancel(std::shared_ptr<detail::LocalCancel> request) {
  env_.loop().post_first([this, request = std::move(request)] {
    if (request->claim()) turns_.cancel(request->instance, request->message, std::move(request->done));
  });
}

// -- for all --------------------------------------------------------------------------------------

void Node::sweep_at(TimePoint due) {
  const TimePoint now = env_.clock().now();
  due = std::max(due, now + shortest_wait);
  if (sweep_ && *sweep_ > now && *sweep_ <= due) return;
  sweep_ = due;
  env_.loop().post_at(env_.clock().lease_now() + (due - now), [this, due] {
    if (sweep_ == due) sweep();
  });
}

void Node::sweep() {
  if (stopping_ || std::exchange(sweeping_, true)) return;
  sweep_.reset();
  env_.run_elsewhere(Lane::store, [this] {
    auto swept = provider_.sweep(overdue_per_sweep);
    env_.loop().post([this, swept = std::move(swept)] {
      sweeping_ = false;
      const TimePoint now = env_.clock().now();
      if (!swept) {
        log_(LogLevel::warning, "the store could not be swept", {{"error", swept.error().describe()}});
      } else if (swept->more) {
        return sweep();
      } else if (swept->next_due) {
        sweep_at(*swept->next_due);
      }
      sweep_at(now + options_.sweep_interval);
    });
  });
}

void Node::counted(const detail::StoreGauges& gauges) {
  if (!instruments_.on()) return;
  env_.loop().post([this, gauges] {
    if (gauges.depths) instruments_.depths(*gauges.depths);
    if (gauges.open) instruments_.active(*gauges.open);
  });
}

// -- the end --------------------------------------------------------------------------------------

void Node::shut_down(Duration deadline, UniqueFunction<void()> done) {
  env_.loop().post([this, deadline, done = std::move(done)]() mutable {
    stopping_ = true;
    gauges_.stop();
    turns_.stop_dispatching();
    drained_ = std::move(done);
    env_.loop().post_at(env_.clock().lease_now() + deadline, [this] { activities_.stop_all(); });
    check_drained();
  });
}

void Node::give_back(ActivityRenewal work) {
  env_.run_elsewhere(Lane::store, [this, work = std::move(work)] {
    // What it said last is there for the next attempt.
    if (work.heartbeat) std::ignore = provider_.renew_activities({&work, 1}, options_.activity_lease);
    const ActivityRelease entry{work.lease, {}, false};
    const Result<void> result = provider_.release_activities(std::span(&entry, 1));
    if (!result)
      log_(LogLevel::warning, "a lease could not be given back", {{"error", result.error().describe()}});
  });
}

void Node::check_drained() {
  if (!stopping_ || !drained_) return;
  // Not now: whoever calls may be about to add the last piece of work. Looked at again until all is quiet.
  env_.loop().post([this] {
    if (!drained_) return;
    const bool quiet = activities_.running() == 0 && committer_.idle() && turns_.busy() == 0 &&
                       !asking_turns_.under_way && !asking_activities_.under_way && !sweeping_;
    if (quiet) {
      leases_.stop();
      watchdog_.stop();
      auto done = std::exchange(drained_, {});
      // Behind everything that was sent to the store before.
      env_.run_elsewhere(Lane::store, [this, done = std::move(done)]() mutable {
        sessions_.release();
        env_.loop().post(std::move(done));
      });
    } else if (activities_.running() == 0) {
      // Again once the store has done what it was asked by now. Not by the clock: a test's may stand still.
      env_.run_elsewhere(Lane::store, [this] { env_.loop().post([this] { check_drained(); }); });
    }
  });
}

}  // namespace duramen::inline v0::runtime
