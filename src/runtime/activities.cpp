#include "runtime/activities.hpp"

#include "base/bounded_failure.hpp"
#include "base/check.hpp"
#include "base/longest_wait.hpp"
#include "runtime/poison.hpp"
#include <duramen/detail/mutant.hpp>
#include <duramen/limits.hpp>

#include <algorithm>
#include <exception>
#include <set>
#include <string>
#include <utility>

namespace duramen::inline v0::runtime {

namespace {

constexpr std::size_t named_at_the_end = 5;
constexpr std::size_t max_lost_remembered = 10'000;

/// The result of an activity, if it is a valid payload.
std::variant<Payload, Failure> checked(Payload payload, const detail::ActivityState& state) {
  const Result<void> ok = check_payload(payload, state.link().max_payload_bytes());
  if (ok) return payload;
  Failure failure;
  failure.kind = ok.error().code == ErrorCode::limit_exceeded ? FailureKind::limit : FailureKind::application;
  failure.type = "InvalidResult";
  failure.message = ok.error().message;
  failure.attempt = state.attempt();
  return failure;
}

std::variant<Payload, Failure> failed(const std::exception_ptr& error, std::uint32_t attempt) {
  Failure failure = base::bounded(failure_from(error));
  failure.attempt = attempt;
  return failure;
}

/// The outcome of an activity. If it was asked to stop before it ended, the cause decides.
ActivityOutcome outcome_of(const detail::ActivityState& state, const std::variant<Payload, Failure>& result) {
  const bool worked = std::holds_alternative<Payload>(result);
  switch (state.cause()) {
    case StopCause::cancelled:
      return ActivityOutcome::cancelled;
    case StopCause::lease_lost:
      return ActivityOutcome::lease_lost;
    case StopCause::shutdown:
      // Even a result is not stored: code that stops early may return a part of its work.
      return worked && detail::mutant("value_after_shutdown_is_stored") ? ActivityOutcome::success
                                                                        : ActivityOutcome::released;
    case StopCause::none:
      break;
  }
  return worked ? ActivityOutcome::success : ActivityOutcome::app_error;
}

}  // namespace

/// A coroutine activity under way. It owns the frame and everything the frame refers to. The frame owns it in
/// turn, through the function called at its end: so a frame that the user's code will resume outlives the
/// runtime. The end of the coroutine or the destruction of the frame breaks this cycle.
struct Activities::CoroutineRun {
  CoroutineRun(std::shared_ptr<const ActivityHandler> h, std::shared_ptr<detail::ActivityState> s)
      : handler(std::move(h)), state(std::move(s)), context(state) {}
  const std::shared_ptr<const ActivityHandler> handler;
  const std::shared_ptr<detail::ActivityState> state;
  ActivityContext context;
  std::optional<ActivityTask<Payload>> task;
};

Activities::~Activities() {
  // All were asked to stop, but the threads that call stop callbacks may have ended before they did.
  for (const auto& [attempt, run] : coroutines_) {
    run->state->ask_to_stop(StopCause::shutdown, {});
    run->state->request_stop(env_.clock().lease_now());
  }
  link_->close();
  // From here on no coroutine begins to pause, and nothing wakes a pausing one.
  std::size_t left = 0;
  std::set<std::string> names;
  for (const auto& [attempt, run] : coroutines_) {
    if (run->state->pausing() || detail::mutant("the_end_frees_waiting_frames")) {
      run->task.reset();
    } else if (!run->state->has_returned()) {
      ++left;
      if (names.size() < named_at_the_end) names.insert(run->state->request().name);
    }
  }
  if (left == 0) return;
  std::string list;
  for (const std::string& name : names) list.append(list.empty() ? "" : ", ").append(name);
  host_.log(
      LogLevel::warning,
      "coroutine activities outlive the runtime, because they wait in awaitables that are not Duramen's: " +
          std::to_string(left) + " (" + list +
          "). Each keeps its memory until your code resumes it; resume it when the stop token fires");
}

Activities::Activities(const detail::ActivityHost& host, const Registry& registry, ActivityCapacity capacity,
                       const Instruments& instruments, ActivityEvents& events)
    : host_(host),
      env_(host.env),
      registry_(registry),
      capacity_(capacity),
      instruments_(instruments),
      events_(events),
      link_(std::make_shared<detail::ActivityLink>(host)),
      notifier_(env_, host.log, instruments),
      stolen_early_(capacity.lease),
      threads_(env_, Lane::activities, "activities", host.log) {}

// -- places ---------------------------------------------------------------------------------------

bool Activities::is_function(const std::string& name) const {
  const auto handler = registry_.find_activity(name);
  return handler != nullptr && std::holds_alternative<ActivityHandler::Function>(handler->run);
}

void Activities::note_function_time(Duration took) noexcept {
  function_ms_ += (static_cast<double>(took.count()) - function_ms_) / 8;
}

/// As many functions as begin within a short time.
std::size_t Activities::prefetch() const noexcept {
  constexpr double soon_ms = 20;
  constexpr double fewest = 8;
  constexpr double most = 4096;
  if (detail::mutant("functions_are_hoarded")) return capacity_.places;
  const double begin_soon = static_cast<double>(capacity_.threads) * soon_ms / std::max(function_ms_, 0.01);
  return static_cast<std::size_t>(std::clamp(begin_soon, fewest, most));
}

std::size_t Activities::free_functions() const noexcept {
  if (capacity_.threads == 0) return free_places();
  const std::size_t places = capacity_.threads + prefetch();
  const std::size_t taken = functions_ + reserved_functions_;
  return taken >= places ? 0 : std::min(free_places(), places - taken);
}

std::size_t Activities::functions_to_fetch() const noexcept {
  if (capacity_.threads == 0) return free_places();
  const std::size_t free = free_functions();
  if (free < std::min(prefetch() / 2, free_places())) return 0;
  // A turn that is stored meanwhile finds places for its own.
  return std::min(free, (capacity_.threads + prefetch() + 1) / 2);
}

// -------------------------------------------------------------------------------------------------

std::vector<std::string> Activities::active_sessions() const {
  std::vector<std::string> active;
  for (const auto& [session, count] : sessions_) active.push_back(session);
  return active;
}

void Activities::run(LeasedActivity leased, LeaseTime since) {
  const ActivityLease lease = leased.lease;
  if (stopping_ && !detail::mutant("activity_begins_after_shutdown"))
    return events_.activity_released({lease, std::nullopt});
  if (too_late(since, capacity_.lease, env_.clock().lease_now()) && !detail::mutant("late_work_is_begun"))
    return events_.activity_released({lease, std::nullopt});
  if (leased.unreadable || leased.attempt > capacity_.max_attempts) return condemn(std::move(leased));
  auto handler = registry_.find_activity(leased.request.name);
  // Only registered activities are fetched or born leased.
  DURAMEN_CHECK(handler != nullptr);
  const auto before = running_.find(lease.key);
  const bool twice = before != running_.end() && before->second.lease().token == lease.token;
  if (twice || abandoned_.contains({lease.key, lease.token})) {
    host_.log(LogLevel::error, "the store handed out a lease that this node already holds; ignored",
              {{"instance_id", leased.request.instance.value},
               {"activity_id", std::to_string(lease.key.activity.value)}});
    return;
  }
  if (before != running_.end()) {
    // This process stood still for longer than the lease, and fetched the activity again before it noticed.
    // The attempt under way does not count, and no later stop can name its lease.
    const ActivityLease old = before->second.lease();
    stop(old, StopCause::lease_lost, {});
    abandon(old);
  }
  if (leased.request.session_id) ++sessions_[*leased.request.session_id];
  auto state = std::make_shared<detail::ActivityState>(std::move(leased), link_);
  host_.leases.keep(lease, state, since, state->request().options);
  const Running running{std::move(state), std::move(handler), env_.clock().lease_now()};
  running_.insert_or_assign(lease.key, running);
  if (running.is_function()) ++functions_;

  if (const auto reason = stolen_early_.take(lease, running.began))
    return stop(lease, StopCause::cancelled, *reason);
  if (running.is_function()) {
    run_function(running);
  } else {
    run_coroutine(running);
  }
}

/// Fails the activity without running it. The failure reaches the instance like any other result.
void Activities::condemn(LeasedActivity leased) {
  const auto lost = lost_.find(leased.lease.key);
  Failure failure = poison_failure(leased, capacity_.max_attempts, lost == lost_.end() ? 0 : lost->second);
  host_.log(LogLevel::error, failure.message,
            {{"instance_id", leased.request.instance.value},
             {"activity_id", std::to_string(leased.lease.key.activity.value)},
             {"attempt", std::to_string(leased.attempt)}});
  instruments_.activity_ended(leased.request, ActivityOutcome::poison, {});
  events_.activity_finished(FinishedActivity{leased.request.instance, leased.lease, std::move(failure)});
}

/// On the thread that is about to run the activity's code. Null if the code must not run: the activity was
/// asked to stop, or its lease is over because the process stood still for longer than it lasts.
std::shared_ptr<detail::ActivityState> Activities::begin(const std::weak_ptr<detail::ActivityState>& queued) {
  std::shared_ptr<detail::ActivityState> state = queued.lock();
  if (!state) return nullptr;
  const ActivityLease& lease = state->work().lease;
  const Standing standing = host_.leases.standing(lease);
  if (standing == Standing::over && !detail::mutant("activity_begins_without_its_lease")) {
    lease_gone(state, StopCause::lease_lost, {});
    return nullptr;
  }
  // The loop knows already, or is about to.
  if (standing == Standing::not_kept && !detail::mutant("queued_activity_begins_though_stopped"))
    return nullptr;
  if (!state->begin(env_.clock().now())) return nullptr;
  host_.leases.begun(lease);
  return state;
}

void Activities::run_function(const Running& running) {
  // A queued job does not own the activity: one that is dropped frees its input at once.
  env_.run_elsewhere(Lane::activities, [this, queued = std::weak_ptr(running.state),
                                        handler = running.handler] { call_function(queued, *handler); });
}

void Activities::call_function(const std::weak_ptr<detail::ActivityState>& queued,
                               const ActivityHandler& handler) {
  const std::shared_ptr<detail::ActivityState> state = begin(queued);
  if (!state) return;
  const LeaseTime began = env_.clock().lease_now();
  Outcome result;
  try {
    ActivityContext context(state);
    const auto& function = std::get<ActivityHandler::Function>(handler.run);
    result = checked(function(context, state->request().input), *state);
  } catch (...) {
    result = failed(std::current_exception(), state->attempt());
  }
  state->set_returned();
  const Duration took = env_.clock().lease_now() - began;
  env_.loop().post([this, lease = state->work().lease, took, result = std::move(result)]() mutable {
    note_function_time(took);
    ended(lease, std::move(result));
  });
}

void Activities::run_coroutine(const Running& running) {
  env_.activity_loop().post([this, queued = std::weak_ptr(running.state), handler = running.handler] {
    begin_coroutine(queued, handler);
  });
}

void Activities::begin_coroutine(const std::weak_ptr<detail::ActivityState>& queued,
                                 const std::shared_ptr<const ActivityHandler>& handler) {
  const std::shared_ptr<detail::ActivityState> state = begin(queued);
  if (!state) return;
  auto run = std::make_shared<CoroutineRun>(handler, state);
  coroutines_[{state->work().lease.key, state->work().lease.token}] = run;
  const auto& coroutine = std::get<ActivityHandler::Coroutine>(handler->run);
  run->task.emplace(coroutine(run->context, state->request().input));
  state->set_frame(std::shared_ptr<std::optional<ActivityTask<Payload>>>(run, &run->task));
  run->task->start([this, link = link_, run]() mutable { coroutine_returned(this, *link, run); });
}

void Activities::coroutine_returned(Activities* self, detail::ActivityLink& link,
                                    std::shared_ptr<CoroutineRun>& run) {
  run->state->set_returned();
  // Once the link is closed the result is not read; the last owner of `run` destroys the frame.
  link.use([self, &run](const detail::ActivityHost& host) {
    host.env.activity_loop().post([self, run = std::move(run)] { self->coroutine_ended(*run); });
  });
}

void Activities::coroutine_ended(CoroutineRun& run) {
  const ActivityLease lease = run.state->work().lease;
  coroutines_.erase({lease.key, lease.token});
  Outcome result;
  try {
    result = checked(run.task->take(), *run.state);
  } catch (...) {
    result = failed(std::current_exception(), run.state->attempt());
  }
  run.task.reset();
  env_.loop().post([this, lease, result = std::move(result)]() mutable { ended(lease, std::move(result)); });
}

// -- stopping -------------------------------------------------------------------------------------

void Activities::stop(const ActivityLease& lease, StopCause cause, CancelReason reason,
                      std::optional<LeaseTime> decided) {
  const auto found = running_.find(lease.key);
  if (found == running_.end() || found->second.lease().token != lease.token) {
    // Only a fetch or a commit under way can still bring this lease.
    if (cause != StopCause::cancelled || reserved_places_ == 0) return;
    if (!abandoned_.contains({lease.key, lease.token}))
      stolen_early_.remember(lease, reason, env_.clock().lease_now());
    return;
  }
  ask_to_stop(lease.key, cause, reason, decided);
}

void Activities::stop(const ActivityKey& key, CancelReason reason) {
  if (running_.contains(key)) ask_to_stop(key, StopCause::cancelled, reason, std::nullopt);
}

void Activities::stop_execution(Incarnation incarnation, ExecutionId execution, CancelReason reason) {
  std::vector<ActivityKey> keys;  // a copy: ask_to_stop() may remove entries
  for (const auto& [key, running] : running_) {
    if (key.incarnation == incarnation && key.execution == execution) keys.push_back(key);
  }
  for (const ActivityKey& key : keys) ask_to_stop(key, StopCause::cancelled, reason, std::nullopt);
}

void Activities::stop_all() {
  stopping_ = true;
  std::vector<ActivityKey> keys;
  for (const auto& [key, running] : running_) keys.push_back(key);
  for (const ActivityKey& key : keys) ask_to_stop(key, StopCause::shutdown, {}, std::nullopt);
}

/// The activity must be in `running_`.
void Activities::ask_to_stop(const ActivityKey& key, StopCause cause, CancelReason reason,
                             std::optional<LeaseTime> decided) {
  const std::shared_ptr<detail::ActivityState> state = running_.at(key).state;
  const LeaseTime now = env_.clock().lease_now();
  const StopNotifier::Cancel cancel{decided.value_or(now), decided.has_value()};
  asked_to_stop(*state, request_stop(state, cause, reason, cancel), now);
}

void Activities::lease_gone(const std::shared_ptr<detail::ActivityState>& state, StopCause cause,
                            CancelReason reason) {
  if (detail::mutant("a_lease_ends_on_the_loop")) {
    return env_.loop().post([this, state, cause, reason] { stop(state->work().lease, cause, reason); });
  }
  const LeaseTime now = env_.clock().lease_now();
  const detail::StopAnswer answer = request_stop(state, cause, reason, {now});
  env_.loop().post([this, state, answer, now] { asked_to_stop(*state, answer, now); });
}

/// Any thread.
detail::StopAnswer Activities::request_stop(const std::shared_ptr<detail::ActivityState>& state,
                                            StopCause cause, CancelReason reason,
                                            const StopNotifier::Cancel& cancel) {
  const detail::StopAnswer answer = state->ask_to_stop(cause, reason);
  if (answer != detail::StopAnswer::runs) return answer;
  if (cause == StopCause::cancelled) {
    notifier_.notify_cancel(state, cancel);
  } else {
    notifier_.notify(state);
  }
  return answer;
}

void Activities::limit_passed(const std::shared_ptr<detail::ActivityState>& state, TimeoutKind which) {
  const LeaseTime now = env_.clock().lease_now();
  state->set_passed_limit(which);
  const detail::StopAnswer answer =
      request_stop(state, StopCause::cancelled, CancelReason::timeout, {now, false});
  env_.loop().post([this, state, answer, now] { fail_overdue(*state, answer, now); });
}

void Activities::fail_overdue(const detail::ActivityState& state, detail::StopAnswer answer,
                              LeaseTime asked) {
  const ActivityKey& key = state.work().lease.key;
  asked_to_stop(state, answer, asked);
  const auto found = running_.find(key);
  if (found == running_.end() || found->second.state.get() != &state) return;  // it has ended
  if (answer != detail::StopAnswer::asked_before) report_timeout(found->second);
}

/// The failure is stored like any other result. The code may run on: what it returns is dropped.
void Activities::report_timeout(Running& running) {
  if (std::exchange(running.timed_out, true)) return;
  const detail::ActivityState& state = *running.state;
  Failure failure = overdue_failure(state.request(), *state.passed_limit(), state.work().attempt);
  events_.activity_finished(FinishedActivity{state.request().instance, running.lease(), std::move(failure),
                                             state.ran(), details_for_retry(state)});
}

/// The rest of a stop, on the loop.
void Activities::asked_to_stop(const detail::ActivityState& state, detail::StopAnswer answer,
                               LeaseTime asked) {
  const ActivityLease& lease = state.work().lease;
  const auto found = running_.find(lease.key);
  if (found == running_.end() || found->second.lease().token != lease.token) return;  // it has ended
  if (answer == detail::StopAnswer::not_begun && !detail::mutant("dropped_activity_is_waited_for")) {
    const bool lost = state.cause() == StopCause::lease_lost;
    ended(lease, Failure::application("NotStarted", "stopped before it began"));
    // The store may have renewed the lease in a call that has not returned yet: then only a release lets
    // another attempt begin before that lease ends.
    if (lost && !detail::mutant("a_dropped_activity_keeps_its_lease"))
      events_.activity_released({lease, std::nullopt});
    return;
  }
  if (answer == detail::StopAnswer::asked_before || answer == detail::StopAnswer::has_returned) return;
  found->second.stop_asked = asked;
  // At a shutdown the lease is kept until the activity has ended: no other node should begin it meanwhile.
  if (state.cause() != StopCause::shutdown) host_.leases.release(lease);
  check_grace_at(lease, asked + capacity_.grace);
}

// -- activities that do not stop ------------------------------------------------------------------

void Activities::check_grace_at(const ActivityLease& lease, LeaseTime when) {
  env_.loop().post_at(when, [this, lease] { check_grace(lease); });
}

void Activities::check_grace(const ActivityLease& lease) {
  const auto found = running_.find(lease.key);
  if (found == running_.end() || found->second.lease().token != lease.token) return;
  const detail::ActivityState& state = *found->second.state;
  // The grace period begins when the activity is notified, which other stop callbacks may delay. But there is
  // a limit: an activity that cannot be notified is abandoned as well.
  const LeaseTime latest = found->second.stop_asked + 2 * capacity_.grace;
  const LeaseTime until = std::min(state.notified_at().value_or(latest) + capacity_.grace, latest);
  if (env_.clock().lease_now() < until && !detail::mutant("grace_begins_before_the_notice"))
    return check_grace_at(lease, until);
  const std::string reason = state.cause() == StopCause::cancelled ? std::string(to_string(state.reason()))
                                                                   : std::string(to_string(state.cause()));
  host_.log(LogLevel::warning,
            "activity '" + state.request().name +
                "' was asked to stop and still runs after the grace period of " +
                std::to_string(capacity_.grace.count()) + " ms",
            {{"instance_id", state.request().instance.value},
             {"activity_name", state.request().name},
             {"activity_id", std::to_string(lease.key.activity.value)},
             {"reason", reason},
             {"attempt", std::to_string(state.attempt())}});
  if (std::holds_alternative<ActivityHandler::Function>(found->second.handler->run)) {
    // At a shutdown no other activity needs its place, and its lease is kept while it runs.
    if (state.cause() != StopCause::shutdown) abandon(lease);
    return;
  }
  env_.activity_loop().post([this, lease] { destroy_or_abandon(lease); });
}

/// No pause ends meanwhile: pauses end on the activity loop.
void Activities::destroy_or_abandon(const ActivityLease& lease) {
  const auto found = coroutines_.find({lease.key, lease.token});
  if (found == coroutines_.end()) return;  // its end is on its way
  if (!found->second->state->pausing()) {
    // An awaitable of the user will resume it: the frame must stay.
    env_.loop().post([this, lease] { abandon(lease); });
    return;
  }
  const std::shared_ptr<CoroutineRun> run = found->second;
  coroutines_.erase(found);
  run->task.reset();
  env_.loop().post([this, lease] {
    ended(lease, Failure::application("Destroyed", "did not stop within the grace period"));
  });
}

void Activities::abandon(const ActivityLease& lease) {
  const auto found = running_.find(lease.key);
  if (found == running_.end() || found->second.lease().token != lease.token) return;
  const bool is_function = std::holds_alternative<ActivityHandler::Function>(found->second.handler->run);
  leave_session(found->second);
  // At a shutdown its lease is renewed as long as this runtime waits for others: see release_abandoned().
  if (detail::mutant("abandoned_at_shutdown_is_released_early")) release_lease(found->second);
  if (is_function) --functions_;
  if (found->second.state->cause() == StopCause::lease_lost) count_lost(lease.key);
  abandoned_.emplace(AttemptKey{lease.key, lease.token}, std::move(found->second));
  running_.erase(found);
  count_abandoned();
  if (is_function) threads_.lost();
  if (abandoned_.size() == capacity_.max_abandoned) {
    host_.log(LogLevel::error,
              "no more activities are taken: " + std::to_string(abandoned_.size()) +
                  " still run although asked to stop; activities must obey their stop token");
  }
  events_.place_freed();
}

void Activities::release_abandoned() {
  if (detail::mutant("abandoned_at_shutdown_keeps_its_lease")) return;
  for (const auto& [attempt, running] : abandoned_) release_lease(running);
}

/// Releases the lease of an activity that a shutdown stopped. A store ignores a lease that it has taken away.
void Activities::release_lease(const Running& running) {
  if (running.state->cause() == StopCause::shutdown)
    events_.activity_released({running.lease(), host_.leases.release(running.lease())});
}

// -- the end --------------------------------------------------------------------------------------

void Activities::leave_session(const Running& running) {
  const auto& session = running.state->request().session_id;
  if (session && --sessions_[*session] == 0) sessions_.erase(*session);
}

void Activities::count_abandoned() {
  abandoned_count_.store(abandoned_.size());
  instruments_.abandoned(abandoned_.size());
}

void Activities::ended(const ActivityLease& lease, Outcome result) {
  if (const auto late = abandoned_.find({lease.key, lease.token}); late != abandoned_.end()) {
    const bool is_function = std::holds_alternative<ActivityHandler::Function>(late->second.handler->run);
    release_lease(late->second);
    abandoned_.erase(late);
    count_abandoned();
    if (is_function) threads_.found();
    events_.place_freed();
    return;
  }
  const auto found = running_.find(lease.key);
  if (found == running_.end() || found->second.lease().token != lease.token) return;
  Running running = std::move(found->second);
  running_.erase(found);
  if (running.is_function()) --functions_;
  // This process may have stood still since the activity returned, or while it ran.
  if (host_.leases.standing(lease) == Standing::over && !detail::mutant("an_end_counts_after_its_lease"))
    running.state->ask_to_stop(StopCause::lease_lost, {});
  std::optional<Heartbeat> unsent = host_.leases.release(lease);
  leave_session(running);
  if (instruments_.on()) {
    instruments_.activity_ended(running.state->request(), outcome_of(*running.state, result),
                                env_.clock().lease_now() - running.began);
  }
  // A fetch that was refused a place gets it first. Otherwise the turn that this result causes could take it,
  // and the turns of a chain would take it again and again.
  events_.place_freed();
  deliver(running, std::move(unsent), std::move(result));
}

/// For the text of a poison failure.
void Activities::count_lost(const ActivityKey& key) {
  if (lost_.size() >= max_lost_remembered) lost_.clear();
  ++lost_[key];
}

void Activities::deliver(Running& running, std::optional<Heartbeat> unsent, Outcome result) {
  switch (outcome_of(*running.state, result)) {
    // The result came after the stop: the store has decided without it and would refuse it.
    case ActivityOutcome::cancelled:
      // Unless this node decided it, and has not reported it yet.
      if (running.state->passed_limit() && running.state->reason() == CancelReason::timeout)
        report_timeout(running);
      return;
    case ActivityOutcome::lease_lost:
      return count_lost(running.lease().key);
    case ActivityOutcome::released:
      return events_.activity_released({running.lease(), std::move(unsent)});
    default: {
      lost_.erase(running.lease().key);
      const bool failed = std::holds_alternative<Failure>(result);
      events_.activity_finished(FinishedActivity{running.state->request().instance, running.lease(),
                                                 std::move(result), running.state->ran(),
                                                 failed ? details_for_retry(*running.state) : std::nullopt});
    }
  }
}

/// The details that the end of a failed attempt carries. `null` stands for details that are too large:
/// without any, the store would take those in the row.
std::optional<Payload> Activities::details_for_retry(const detail::ActivityState& state) const {
  std::optional<Payload> details = state.last_details();
  if (!details || details->data.size() <= max_retry_details_bytes ||
      detail::mutant("large_details_leave_the_node"))
    return details;
  host_.log(LogLevel::warning, "heartbeat details are too large for a retry, so they are dropped",
            {{"instance_id", state.request().instance.value},
             {"activity", state.request().name},
             {"bytes", std::to_string(details->data.size())},
             {"limit", std::to_string(max_retry_details_bytes)}});
  return Payload::none();
}

}  // namespace duramen::inline v0::runtime
