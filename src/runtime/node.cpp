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
// A hint may come too early; the node follows it no more often than this.
constexpr Duration shortest_wait{5};
constexpr std::size_t overdue_per_sweep = 256;

std::vector<RegisteredOrchestration> registered(const Registry& registry) {
  std::vector<RegisteredOrchestration> all;
  for (auto& [name, versions] : registry.orchestrations()) all.push_back({name, versions});
  return all;
}

std::vector<std::string> names_of(const Registry& registry, bool functions) {
  std::vector<std::string> names;
  for (const std::string& name : registry.activity_names()) {
    const auto handler = registry.find_activity(name);
    if (std::holds_alternative<ActivityHandler::Function>(handler->run) == functions) names.push_back(name);
  }
  return names;
}

/// The earlier of two hints.
std::optional<TimePoint> first_of(std::optional<TimePoint> a, std::optional<TimePoint> b) {
  return a && b ? std::min(a, b) : a ? a : b;
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
      function_names_(names_of(registry_, true)),
      coroutine_names_(names_of(registry_, false)),
      reporter_(provider_, options_, orchestrations_, activity_names_, log_),
      watchdog_(env, options_.slow_turn, log_),
      leases_(env, provider_, options_.activity_lease, *this, log_),
      turn_leases_(env, provider_, {.lease = options_.turn_lease, .max_turn_time = options_.max_turn_time},
                   watchdog_, log_),
      sessions_(env, provider_, session_owner(), options_.session_lease, options_.session_idle, log_),
      activities_({.node = options_.node,
                   .env = env,
                   .leases = leases_,
                   .log = log_,
                   .max_payload_bytes = options_.max_payload_bytes,
                   .store_id = provider_.store_id()},
                  registry_,
                  {.places = options_.max_activities,
                   .threads = options_.activity_threads,
                   .max_abandoned = options_.max_abandoned,
                   .grace = options_.cancel_grace,
                   .max_attempts = options_.max_attempts,
                   .lease = options_.activity_lease},
                  instruments_, *this),
      turns_(env, provider_, registry_, activities_, turn_options(),
             {.max_batch = options_.max_commit_batch,
              .retry_for = options_.turn_lease * 2 / 3,
              .retry_held_for = options_.max_turn_time},
             turn_leases_, *this, log_, instruments_, watchdog_),
      gauges_(env, provider_, *store_.local_hub(), options_.gauge_interval, log_) {}

TurnOptions Node::turn_options() const {
  const std::size_t one_more = detail::mutant("keeps_the_last_resident") ? 1 : 0;
  return {.node = options_.node,
          .max_resident = options_.max_resident_instances + one_more,
          .max_actions = options_.max_actions_per_turn,
          .max_payload_bytes = options_.max_payload_bytes,
          .max_depth = options_.max_depth,
          .activity_lease = options_.activity_lease,
          .max_turn_time = options_.max_turn_time,
          .tags = options_.tags,
          .max_attempts = options_.max_attempts,
          .unregistered_pause = options_.unregistered_pause,
          .longest_unregistered_pause = options_.longest_unregistered_pause,
          .write_level = &reporter_.write_level()};
}

Node::~Node() { subscription_.reset(); }

void Node::run() {
  subscription_ = provider_.subscribe(options_.node, *this);
  leases_.start();
  const LeaseTime listed = env_.clock().lease_now();
  // Before the first turn: a node is listed, and an execution records the level at which it begins.
  reporter_.begin();
  env_.loop().post([this, listed] { begin_work(listed); });
  if (instruments_.on() && options_.gauge_interval > Duration{})
    env_.loop().post([this] { gauges_.start(); });
}

void Node::begin_work(LeaseTime listed) {
  was_listed_ = reporter_.listed();
  poll();
  sweep();
  report_later(listed);
}

/// Work waits until the record of this node is stored.
bool Node::may_work() const noexcept { return !stopping_ && reporter_.listed(); }

std::string Node::session_owner() const {
  return options_.session_owner.empty() ? options_.node.value : options_.session_owner;
}

// -- fetching turns -------------------------------------------------------------------------------

void Node::turns_ready() {
  if (turn_gate_.hint()) env_.loop().post([this] { follow_turn_hint(); });
}

void Node::follow_turn_hint() {
  turn_gate_.follow_hint();
  fetch_turns();
}

void Node::fetch_turns() {
  // Also without orchestrations: every node decides cancels that need no code.
  if (orchestrations_.empty() && detail::mutant("a_node_without_orchestrations_decides_nothing")) return;
  if (!may_work() || !turn_gate_.try_begin()) return;
  if (turns_.busy() >= busy_turns) {
    turn_gate_.cancel();
    return fetch_turns_later();
  }
  env_.run_elsewhere(Lane::store, [this] { call_fetch_turns(); });
}

/// Every hint comes here while too many turns are being stored; one timer is enough.
void Node::fetch_turns_later() {
  if (std::exchange(fetching_later_, true) && !detail::mutant("every_hint_arms_a_timer")) return;
  env_.loop().post_at(env_.clock().lease_now() + shortest_wait, [this] { fetch_postponed_turns(); });
}

void Node::fetch_postponed_turns() {
  fetching_later_ = false;
  fetch_turns();
}

void Node::call_fetch_turns() {
  const TurnFetch request{.node = options_.node,
                          .limit = turns_per_fetch,
                          .lease = options_.turn_lease,
                          .min_engine_version = options_.min_engine_version,
                          .max_engine_version = options_.max_engine_version,
                          .orchestrations = orchestrations_};
  const LeaseTime sent = env_.clock().lease_now();
  auto batch = provider_.fetch_turns(request);
  if (batch && too_late(sent, options_.turn_lease, env_.clock().lease_now())) release_late(batch->items);
  // Kept from here on: the loop may be blocked.
  if (batch) turn_leases_.keep(batch->items, sent);
  env_.loop().post([this, batch = std::move(batch)]() mutable { turns_arrived(std::move(batch)); });
}

/// The store took so long that the leases may end before a turn is stored.
void Node::release_late(std::vector<LeasedInstance>& items) {
  if (items.empty() || detail::mutant("late_work_is_begun")) return;
  log_(LogLevel::warning, "the store took most of a lease to hand out turns; they are released",
       {{"count", std::to_string(items.size())}});
  std::vector<TurnRelease> releases;
  for (const LeasedInstance& item : items)
    releases.push_back({.lease = {item.incarnation, item.lease}, .count_attempt = false});
  items.clear();
  if (const Result<void> result = provider_.release_turns(releases); !result) {
    log_(LogLevel::warning, "releasing turns failed; their leases end at their deadlines",
         {{"error", result.error().describe()}});
  }
}

void Node::turns_arrived(Result<TurnBatch> batch) {
  if (!batch) {
    log_(LogLevel::warning, "fetching turns failed; retrying at the next poll",
         {{"error", batch.error().describe()}});
    return turn_fetch_finished(false);
  }
  if (batch->next_due) wake_at(for_turns_, *batch->next_due);
  const bool more = !batch->items.empty();
  instruments_.fetched(batch->items.size(), 0);
  turns_.take(std::move(batch->items));
  turn_fetch_finished(more);
}

void Node::turn_fetch_finished(bool more) {
  if (turn_gate_.finish(more)) fetch_turns();
  check_drained();
}

// -- fetching activities --------------------------------------------------------------------------

void Node::activities_ready() {
  if (activity_gate_.hint()) env_.loop().post([this] { follow_activity_hint(); });
}

void Node::follow_activity_hint() {
  activity_gate_.follow_hint();
  fetch_activities();
}

void Node::fetch_activities() {
  if (!may_work() || activity_names_.empty() || !activity_gate_.try_begin()) return;
  const std::size_t free = std::min(activities_.free_places(), activities_per_fetch);
  Places places{free, function_names_.empty() ? 0 : std::min(free, activities_.functions_to_fetch())};
  if (coroutine_names_.empty()) places.all = places.functions;
  functions_wait_ = places.functions == 0 && !function_names_.empty();
  if (places.all == 0) return activity_gate_.postpone();  // until place_freed()
  activities_.reserve(places);
  std::optional<SessionClaim> claim;
  if (options_.max_sessions > 0) {
    claim = SessionClaim{.owner = session_owner(),
                         .lease = options_.session_lease,
                         .active = activities_.active_sessions(),
                         .max_active = options_.max_sessions};
  }
  env_.run_elsewhere(Lane::store, [this, places, claim = std::move(claim)]() mutable {
    call_fetch_activities(places, claim);
  });
}

void Node::call_fetch_activities(const Places& places, const std::optional<SessionClaim>& claim) {
  ActivityFetch request;
  request.node = options_.node;
  request.lease = options_.activity_lease;
  request.tags = options_.tags;
  request.sessions = claim;
  const LeaseTime sent = env_.clock().lease_now();
  auto batch = fetch_kinds(places, std::move(request));
  env_.loop().post([this, places, batch = std::move(batch), sent]() mutable {
    activities_arrived(std::move(batch), sent, places);
  });
}

/// Functions need threads and coroutines do not, so each kind has a limit, and a fetch for each.
Result<ActivityBatch> Node::fetch_kinds(const Places& places, ActivityFetch request) {
  const auto fetch = [&](const std::vector<std::string>& names, std::size_t limit) -> Result<ActivityBatch> {
    if (names.empty() || limit == 0) return ActivityBatch{};
    request.names = names;
    request.limit = limit;
    return provider_.fetch_activities(request);
  };
  coroutines_first_ = !coroutines_first_;
  auto first =
      coroutines_first_ ? fetch(coroutine_names_, places.all) : fetch(function_names_, places.functions);
  if (!first) return first;
  for (const LeasedActivity& item : first->items) {
    if (request.sessions && item.request.session_id)
      request.sessions->active.push_back(*item.request.session_id);
  }
  const std::size_t left = places.all - std::min(places.all, first->items.size());
  auto second = coroutines_first_ ? fetch(function_names_, std::min(places.functions, left))
                                  : fetch(coroutine_names_, left);
  // The first call has leased activities: they are kept although the second call failed.
  if (!second) return first->items.empty() ? second : first;
  for (LeasedActivity& item : second->items) first->items.push_back(std::move(item));
  first->next_due = first_of(first->next_due, second->next_due);
  return first;
}

void Node::activities_arrived(Result<ActivityBatch> batch, LeaseTime sent, Places reserved) {
  Places needed;
  for (std::size_t i = 0; batch && i < batch->items.size(); ++i) {
    const bool function = activities_.is_function(batch->items[i].request.name);
    if (needed.all < reserved.all) ++needed.all;
    if (function && needed.functions < reserved.functions) ++needed.functions;
  }
  activities_.release({reserved.all - needed.all, reserved.functions - needed.functions});
  if (!batch) {
    log_(LogLevel::warning, "fetching activities failed; retrying at the next poll",
         {{"error", batch.error().describe()}});
    return activity_fetch_finished(false);
  }
  if (batch->next_due) wake_at(for_activities_, *batch->next_due);
  const bool more = !batch->items.empty();
  instruments_.fetched(0, batch->items.size());
  for (std::size_t i = 0; i < batch->items.size(); ++i) {
    // One by one: an unreadable activity ends right here, and the turn it causes takes the places that are
    // free.
    const bool function = activities_.is_function(batch->items[i].request.name);
    const Places place{needed.all > 0 ? 1u : 0u, function && needed.functions > 0 ? 1u : 0u};
    needed = {needed.all - place.all, needed.functions - place.functions};
    activities_.release(place);
    take_activity(std::move(batch->items[i]), sent);
  }
  activity_fetch_finished(more);
}

void Node::take_activity(LeasedActivity leased, LeaseTime sent) {
  if (stopping_) return activity_released({leased.lease});
  if (leased.request.session_id) sessions_.claimed();
  activities_.run(std::move(leased), sent);
}

void Node::activity_fetch_finished(bool more) {
  if (activity_gate_.finish(more)) fetch_activities();
  check_drained();
}

// -- when to fetch --------------------------------------------------------------------------------

void Node::poll() {
  if (stopping_) return;
  fetch_turns();
  fetch_activities();
  env_.loop().post_at(env_.clock().lease_now() + options_.poll_interval, [this] { poll(); });
}

/// A timer that is due causes no notification: the node fetches when the next one is due.
void Node::wake_at(WakeUp& wake_up, TimePoint due) {
  const TimePoint now = env_.clock().now();
  due = std::max(due, now + shortest_wait);
  if (wake_up.at && *wake_up.at > now && *wake_up.at <= due) return;
  wake_up.at = due;
  const LeaseTime when = env_.clock().lease_now() + std::max(due - now, Duration::zero());
  env_.loop().post_at(when, [this, &wake_up, due] { wake(wake_up, due); });
}

void Node::wake(WakeUp& wake_up, TimePoint due) {
  // Reset even if the wall clock is slightly behind: a timer that is still due then needs a new wake-up.
  if (wake_up.at == due) wake_up.at.reset();
  (this->*wake_up.fetch)();
}

// -- events of turns, activities and leases -------------------------------------------------------

void Node::timer_created(TimePoint due) { wake_at(for_turns_, due); }

void Node::activity_limited(TimePoint due) { sweep_at(due); }

void Node::commit_stole(const StolenLease& stolen, LeaseTime decided) {
  // The store notifies the other nodes.
  if (stolen.owner != options_.node) return;
  activities_.stop(stolen.lease, StopCause::cancelled, stolen.reason, decided);
}

void Node::instance_ended(const InstanceId& instance, const detail::EndedInstance& end) {
  store_.local_hub()->announce_end(instance, end);
}

void Node::activity_finished(FinishedActivity activity) { turns_.take(std::move(activity)); }

/// Gathers: a pause of the process or a shutdown can release thousands at once.
void Node::activity_released(ActivityRenewal activity) {
  if (released_.empty()) env_.loop().post([this] { release_gathered(); });
  released_.push_back(std::move(activity));
}

void Node::release_gathered() {
  if (released_.empty()) return;
  env_.run_elsewhere(Lane::store,
                     [this, released = std::exchange(released_, {})] { call_release_activities(released); });
}

void Node::call_release_activities(const std::vector<ActivityRenewal>& released) {
  std::vector<ActivityRenewal> heartbeats;  // the next attempts can read them
  std::vector<ActivityRelease> releases;
  for (const ActivityRenewal& activity : released) {
    if (activity.heartbeat) heartbeats.push_back(activity);
    releases.push_back({.lease = activity.lease, .delay = {}, .count_attempt = false});
  }
  if (!heartbeats.empty()) std::ignore = provider_.renew_activities(heartbeats, options_.activity_lease);
  const Result<void> result = provider_.release_activities(releases);
  if (!result) {
    log_(LogLevel::warning, "releasing activities failed; their leases end at their deadlines",
         {{"count", std::to_string(releases.size())}, {"error", result.error().describe()}});
  }
}

void Node::place_freed() {
  if (activity_gate_.is_wanted() || (functions_wait_ && activities_.functions_to_fetch() > 0))
    fetch_activities();
  check_drained();
}

void Node::lease_gone(const std::shared_ptr<detail::ActivityState>& holder, const RenewResult& why) {
  const bool cancelled = why.outcome == RenewOutcome::cancelled;
  activities_.lease_gone(holder, cancelled ? StopCause::cancelled : StopCause::lease_lost, why.reason);
}

void Node::limit_passed(const std::shared_ptr<detail::ActivityState>& holder, TimeoutKind which) {
  activities_.limit_passed(holder, which);
}

// -- notifications of the provider ----------------------------------------------------------------

void Node::leases_stolen(std::span<const StolenLease> stolen) {
  env_.loop().post(
      [this, copy = std::vector<StolenLease>(stolen.begin(), stolen.end())] { stop_stolen(copy); });
}

void Node::stolen_leases_pending() {
  env_.run_elsewhere(Lane::store, [this] { call_read_stolen_leases(); });
}

void Node::call_read_stolen_leases() {
  auto stolen = provider_.read_stolen_leases(options_.node);
  if (!stolen) return;  // the next renewal returns the same
  if (!stolen->empty()) env_.loop().post([this, stolen = std::move(*stolen)] { stop_stolen(stolen); });
}

void Node::stop_stolen(const std::vector<StolenLease>& stolen) {
  for (const StolenLease& lease : stolen) activities_.stop(lease.lease, StopCause::cancelled, lease.reason);
}

// -- starts and cancels of this process -----------------------------------------------------------

bool Node::runs(const message::StartOrchestration& start) const {
  // A node that cannot read what new executions begin with leaves the start to the queue.
  if (!reporter_.reads_write_level() && !detail::mutant("a_start_is_fused_at_any_level")) return false;
  return reporter_.listed() && registry_.find_orchestration(start.orchestration, start.version) != nullptr;
}

void Node::start(StartRequest request, UniqueFunction<void(Result<StartOutcome>)> done) {
  env_.loop().post([this, request = std::move(request), done = std::move(done)]() mutable {
    turns_.start(std::move(request), std::move(done));
  });
}

void Node::cancel(std::shared_ptr<detail::LocalCancel> request) {
  env_.loop().post_first([this, request = std::move(request)] { run_cancel(*request); });
}

void Node::run_cancel(detail::LocalCancel& request) {
  if (request.claim()) turns_.cancel(request.instance, request.message, std::move(request.done));
}

// -- sweeps and gauges ----------------------------------------------------------------------------

void Node::sweep_at(TimePoint due) {
  const TimePoint now = env_.clock().now();
  due = std::max(due, now + shortest_wait);
  if (sweep_ && *sweep_ > now && *sweep_ <= due) return;
  sweep_ = due;
  env_.loop().post_at(env_.clock().lease_now() + (due - now), [this, due] { sweep_if_due(due); });
}

void Node::sweep_if_due(TimePoint due) {
  if (sweep_ == due) sweep();
}

void Node::sweep() {
  if (stopping_ || std::exchange(sweeping_, true)) return;
  sweep_.reset();
  env_.run_elsewhere(Lane::store, [this] { call_sweep(); });
}

void Node::call_sweep() {
  auto result = provider_.sweep(overdue_per_sweep);
  env_.loop().post([this, result = std::move(result)] { swept(result); });
}

void Node::swept(const Result<SweepResult>& result) {
  sweeping_ = false;
  const TimePoint now = env_.clock().now();
  if (!result) {
    log_(LogLevel::warning, "sweeping the store failed; retrying at the next sweep",
         {{"error", result.error().describe()}});
  } else if (result->more) {
    return sweep();
  } else if (result->next_due) {
    sweep_at(*result->next_due);
  }
  sweep_at(now + options_.sweep_interval);
}

void Node::counted(const detail::StoreGauges& gauges) {
  if (!instruments_.on()) return;
  env_.loop().post([this, gauges] { report_gauges(gauges); });
}

void Node::report_gauges(const detail::StoreGauges& gauges) {
  if (gauges.depths) instruments_.depths(*gauges.depths);
  if (gauges.open) instruments_.active(*gauges.open);
}

/// One report at a time: while the store is slow, they must not gather on its lane.
void Node::report_node() {
  if (stopping_) return;
  reporting_ = true;
  const LeaseTime began = env_.clock().lease_now();
  env_.run_elsewhere(Lane::store, [this, began, running = activities_.running(), resident = turns_.resident(),
                                   abandoned = activities_.abandoned()] {
    reporter_.report(running, resident, abandoned);
    env_.loop().post([this, began] { reported(began); });
  });
  if (detail::mutant("reports_do_not_wait_for_each_other")) report_later(began);
}

void Node::reported(LeaseTime began) {
  reporting_ = false;
  if (!std::exchange(was_listed_, reporter_.listed()) && was_listed_ &&
      !detail::mutant("a_late_listing_waits_for_the_poll")) {
    fetch_turns();
    fetch_activities();
  }
  if (!detail::mutant("reports_do_not_wait_for_each_other")) report_later(began);
}

void Node::report_later(LeaseTime last) {
  const Duration pause =
      reporter_.listed() ? NodeReporter::interval : std::min(options_.poll_interval, NodeReporter::interval);
  env_.loop().post_at(last + pause, [this] { report_node(); });
}

// -- the end --------------------------------------------------------------------------------------

void Node::shut_down(Duration deadline, UniqueFunction<void()> done) {
  env_.loop().post(
      [this, deadline, done = std::move(done)]() mutable { begin_shutdown(deadline, std::move(done)); });
}

void Node::begin_shutdown(Duration deadline, UniqueFunction<void()> done) {
  stopping_ = true;
  reporter_.stop();
  gauges_.stop();
  turns_.stop_dispatching();
  drained_ = std::move(done);
  env_.loop().post_at(env_.clock().lease_now() + deadline, [this] { activities_.stop_all(); });
  check_drained();
}

/// Posts the check: the caller may be about to add the last piece of work.
void Node::check_drained() {
  if (stopping_ && drained_) env_.loop().post([this] { finish_if_drained(); });
}

bool Node::is_drained() const {
  return activities_.running() == 0 && turns_.idle() && turn_gate_.is_idle() && activity_gate_.is_idle() &&
         !sweeping_ && !reporting_;
}

void Node::finish_if_drained() {
  if (!drained_) return;
  if (is_drained()) {
    activities_.release_abandoned();
    release_gathered();
    leases_.stop();
    turn_leases_.stop();
    watchdog_.stop();
    // Behind all earlier calls to the store.
    env_.run_elsewhere(Lane::store, [this, done = std::exchange(drained_, {})]() mutable {
      call_release_sessions(std::move(done));
    });
  } else if (activities_.running() == 0) {
    // Again behind all earlier calls to the store. Not at a time: the clock of a test may stand still.
    env_.run_elsewhere(Lane::store, [this] { check_drained_later(); });
  }
}

void Node::call_release_sessions(UniqueFunction<void()> done) {
  sessions_.release();
  reporter_.remove();
  env_.loop().post(std::move(done));
}

void Node::check_drained_later() {
  env_.loop().post([this] { check_drained(); });
}

}  // namespace duramen::inline v0::runtime
