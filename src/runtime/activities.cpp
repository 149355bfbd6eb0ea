#include "runtime/activities.hpp"

#include "base/bounded_failure.hpp"
#include "base/check.hpp"
#include "base/longest_wait.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <exception>
#include <set>
#include <string>
#include <utility>

namespace duramen::inline v0::runtime {

namespace {

constexpr std::size_t named_at_the_end = 5;

/// What an activity returned, if it may travel.
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

/// What became of one that was handed out too often, or cannot even be read.
Failure poison(const LeasedActivity& work, std::uint32_t max_attempts) {
  Failure failure;
  failure.kind = FailureKind::poison;
  failure.attempt = work.attempt;
  if (work.unreadable) {
    failure.type = "UnreadableActivity";
    failure.message = "the activity cannot be read: " + *work.unreadable;
  } else {
    failure.type = "PoisonActivity";
    failure.message = "activity '" + work.request.name + "' was handed out " +
                      std::to_string(work.attempt - 1) + " times without coming to an end (limit " +
                      std::to_string(max_attempts) +
                      "): does it crash its process, or block longer than its lease?";
  }
  return failure;
}

/// What becomes of an end, by what was asked of the activity before it.
ActivityOutcome outcome_of(const detail::ActivityState& state, const std::variant<Payload, Failure>& result) {
  const bool worked = std::holds_alternative<Payload>(result);
  switch (state.cause()) {
    case StopCause::cancelled:
      return ActivityOutcome::cancelled;
    case StopCause::lease_lost:
      return ActivityOutcome::lease_lost;
    case StopCause::shutdown:
      // Whatever it returned: code that stops early may return a part of its work.
      return worked && detail::mutant("value_after_shutdown_is_stored") ? ActivityOutcome::success
                                                                        : ActivityOutcome::given_back;
    case StopCause::none:
      break;
  }
  return worked ? ActivityOutcome::success : ActivityOutcome::app_error;
}

}  // namespace

std::optional<Duration> shortest_limit(const ActivityOptions& options) {
  std::optional<Duration> shortest;
  for (const Duration limit : {options.schedule_to_start, options.start_to_close, options.heartbeat}) {
    if (limit > Duration{} && (!shortest || limit < *shortest)) shortest = base::no_longer(limit);
  }
  return shortest;
}

/// A coroutine activity under way. Owns the frame and all that the frame refers to. The frame owns it in
/// turn, through what is called at its end: so a frame that the user's code will resume stays, whatever
/// becomes of the runtime. Either the end of the coroutine or the destruction of the frame takes this cycle
/// apart.
struct Activities::CoroutineRun {
  CoroutineRun(std::shared_ptr<const ActivityHandler> h, std::shared_ptr<detail::ActivityState> s)
      : handler(std::move(h)), state(std::move(s)), context(state) {}
  const std::shared_ptr<const ActivityHandler> handler;
  const std::shared_ptr<detail::ActivityState> state;
  ActivityContext context;
  std::optional<ActivityTask<Payload>> task;
};

Activities::~Activities() {
  // All of these were asked to stop, but the threads that call their stop callbacks may have ended before.
  for (const auto& [attempt, run] : coroutines_) {
    run->state->ask_to_stop(StopCause::shutdown, {});
    run->state->request_stop(env_.clock().lease_now());
  }
  link_->close();
  // Now no coroutine begins to pause, and nothing wakes one that does.
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
      "the runtime leaves coroutine activities behind, which wait in awaitables that are not Duramen's: " +
          std::to_string(left) + " (" + list +
          "). Each keeps its memory until your code resumes it; do so when the stop token fires");
}

Activities::Activities(const detail::ActivityHost& host, const Registry& registry, ActivityCapacity limits,
                       const Instruments& instruments, Events events)
    : host_(host),
      env_(host.env),
      registry_(registry),
      limits_(limits),
      instruments_(instruments),
      events_(std::move(events)),
      link_(std::make_shared<detail::ActivityLink>(host)),
      notifier_(env_, host.log),
      stolen_early_(limits.lease),
      threads_(env_, Lane::activities, "activities", host.log) {}

std::vector<std::string> Activities::active_sessions() const {
  std::vector<std::string> active;
  for (const auto& [session, count] : sessions_) active.push_back(session);
  return active;
}

void Activities::run(LeasedActivity work, LeaseTime since) {
  const ActivityLease lease = work.lease;
  if (stopping_ && !detail::mutant("activity_begins_after_shutdown"))
    return events_.given_back({lease, std::nullopt});
  if (work.unreadable || work.attempt > limits_.max_attempts) return condemn(std::move(work));
  auto handler = registry_.find_activity(work.request.name);
  DURAMEN_CHECK(handler != nullptr);  // only what is registered is fetched or born leased
  const auto before = running_.find(lease.key);
  const bool twice = before != running_.end() && before->second.lease().token == lease.token;
  if (twice || abandoned_.contains({lease.key, lease.token})) {
    host_.log(LogLevel::error, "the store handed out a lease that is held here already; ignored",
              {{"instance_id", work.request.instance.value},
               {"activity_id", std::to_string(lease.key.activity.value)}});
    return;
  }
  if (before != running_.end()) {
    // We were away for longer than the lease, and were given it again before we noticed. The attempt under
    // way is not the one that counts; nobody will ask for it by its lease any more.
    const ActivityLease old = before->second.lease();
    stop(old, StopCause::lease_lost, {});
    abandon(old);
  }
  if (work.request.session_id) ++sessions_[*work.request.session_id];
  host_.leases.keep(lease, since, work.request.options.heartbeat);
  auto state = std::make_shared<detail::ActivityState>(std::move(work), link_);
  const Running running{std::move(state), std::move(handler), env_.clock().lease_now()};
  running_.insert_or_assign(lease.key, running);

  if (const auto reason = stolen_early_.take(lease, running.began))
    return stop(lease, StopCause::cancelled, *reason);
  if (std::holds_alternative<ActivityHandler::Function>(running.handler->run)) {
    run_function(running);
  } else {
    run_coroutine(running);
  }
}

/// Fails it without running it. Goes the way of every end, so that it reaches the instance as one.
void Activities::condemn(LeasedActivity work) {
  Failure failure = poison(work, limits_.max_attempts);
  host_.log(LogLevel::error, failure.message,
            {{"instance_id", work.request.instance.value},
             {"activity_id", std::to_string(work.lease.key.activity.value)},
             {"attempt", std::to_string(work.attempt)}});
  instruments_.activity_ended(work.request, ActivityOutcome::poison, {});
  events_.finished(FinishedActivity{work.request.instance, work.lease, std::move(failure)});
}

/// On the thread that is about to run the activity's code. Null if that must not run: it was asked to stop,
/// or its lease is over. The process may have stood still for longer than the lease lasts.
std::shared_ptr<detail::ActivityState> Activities::begin(const std::weak_ptr<detail::ActivityState>& queued) {
  std::shared_ptr<detail::ActivityState> state = queued.lock();
  if (!state) return nullptr;
  const ActivityLease& lease = state->work().lease;
  const Standing standing = host_.leases.standing(lease);
  if (standing == Standing::over && !detail::mutant("activity_begins_without_its_lease")) {
    env_.loop().post([this, lease] { stop(lease, StopCause::lease_lost, {}); });
    return nullptr;
  }
  // Then the loop knows of it, or is about to.
  if (standing == Standing::not_kept && !detail::mutant("queued_activity_begins_though_stopped"))
    return nullptr;
  return state->begin() ? state : nullptr;
}

void Activities::run_function(const Running& running) {
  // Jobs that wait for a thread do not own what they would run: one that is dropped frees its input at once.
  env_.run_elsewhere(
      Lane::activities, [this, queued = std::weak_ptr(running.state), handler = running.handler] {
        const std::shared_ptr<detail::ActivityState> state = begin(queued);
        if (!state) return;
        std::variant<Payload, Failure> result;
        try {
          ActivityContext context(state);
          const auto& function = std::get<ActivityHandler::Function>(handler->run);
          result = checked(function(context, state->request().input), *state);
        } catch (...) {
          result = failed(std::current_exception(), state->attempt());
        }
        state->set_returned();
        env_.loop().post([this, lease = state->work().lease, result = std::move(result)]() mutable {
          ended(lease, std::move(result));
        });
      });
}

void Activities::run_coroutine(const Running& running) {
  env_.activity_loop().post([this, queued = std::weak_ptr(running.state), handler = running.handler] {
    const std::shared_ptr<detail::ActivityState> state = begin(queued);
    if (!state) return;
    auto run = std::make_shared<CoroutineRun>(handler, state);
    coroutines_[{state->work().lease.key, state->work().lease.token}] = run;
    const auto& coroutine = std::get<ActivityHandler::Coroutine>(handler->run);
    run->task.emplace(coroutine(run->context, state->request().input));
    state->set_frame(std::shared_ptr<std::optional<ActivityTask<Payload>>>(run, &run->task));
    // Called where the coroutine ends, on any thread and at any time.
    run->task->start([this, link = link_, run]() mutable {
      run->state->set_returned();
      link->use([this, &run](const detail::ActivityHost&) {
        env_.activity_loop().post([this, run = std::move(run)] { coroutine_ended(*run); });
      });
      // If the link is closed nobody reads the result; the last owner of `run` destroys the frame.
    });
  });
}

void Activities::coroutine_ended(CoroutineRun& run) {
  const ActivityLease lease = run.state->work().lease;
  coroutines_.erase({lease.key, lease.token});
  std::variant<Payload, Failure> result;
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
    // Only what was asked for before can bring it.
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
  std::vector<ActivityKey> keys;  // first: those that have not begun are removed
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

/// One that runs here.
void Activities::ask_to_stop(const ActivityKey& key, StopCause cause, CancelReason reason,
                             std::optional<LeaseTime> decided) {
  Running& running = running_.at(key);
  const std::shared_ptr<detail::ActivityState> state = running.state;
  const ActivityLease& lease = state->work().lease;
  switch (state->ask_to_stop(cause, reason)) {
    case detail::StopAnswer::not_begun:
      if (detail::mutant("dropped_activity_is_waited_for")) break;
      return ended(lease, Failure::application("NotStarted", "stopped before it began"));
    case detail::StopAnswer::runs:
      break;
    case detail::StopAnswer::asked_before:
    case detail::StopAnswer::has_returned:
      return;  // its end is on its way
  }
  running.asked = env_.clock().lease_now();
  // At a shutdown the lease is kept until the activity has really ended: nobody else should begin while it
  // runs.
  if (cause != StopCause::shutdown) host_.leases.release(lease);
  UniqueFunction<void()> count;
  if (cause == StopCause::cancelled && instruments_.on()) {
    count = [this, state, since = decided.value_or(running.asked), here = decided.has_value()] {
      instruments_.cancel_delivered(std::chrono::duration<double>(*state->notified_at() - since).count(),
                                    here);
    };
  }
  notifier_.notify(state, std::move(count));
  look_after_grace(lease, running.asked + limits_.grace);
}

// -- those that do not ----------------------------------------------------------------------------

void Activities::look_after_grace(const ActivityLease& lease, LeaseTime when) {
  env_.loop().post_at(when, [this, lease] { grace_over(lease); });
}

void Activities::grace_over(const ActivityLease& lease) {
  const auto found = running_.find(lease.key);
  if (found == running_.end() || found->second.lease().token != lease.token) return;
  const detail::ActivityState& state = *found->second.state;
  // It counts from when the activity was notified: others' stop callbacks may have held that up. But not
  // without end, so that an activity that cannot be notified is given up all the same.
  const LeaseTime latest = found->second.asked + 2 * limits_.grace;
  const LeaseTime until = std::min(state.notified_at().value_or(latest) + limits_.grace, latest);
  if (env_.clock().lease_now() < until && !detail::mutant("grace_begins_before_the_notice"))
    return look_after_grace(lease, until);
  const std::string reason = state.cause() == StopCause::cancelled ? std::string(to_string(state.reason()))
                                                                   : std::string(to_string(state.cause()));
  host_.log(LogLevel::warning,
            "activity '" + state.request().name +
                "' was asked to stop and still runs after the grace period of " +
                std::to_string(limits_.grace.count()) + " ms",
            {{"instance_id", state.request().instance.value},
             {"activity_name", state.request().name},
             {"activity_id", std::to_string(lease.key.activity.value)},
             {"reason", reason},
             {"attempt", std::to_string(state.attempt())}});
  if (std::holds_alternative<ActivityHandler::Function>(found->second.handler->run)) {
    // At shutdown there is nothing to give its place to, and its lease is kept while it runs.
    if (state.cause() != StopCause::shutdown) abandon(lease);
    return;
  }
  env_.activity_loop().post([this, lease] { destroy_or_abandon(lease); });
}

/// On the activity loop, where no pause ends meanwhile.
void Activities::destroy_or_abandon(const ActivityLease& lease) {
  const auto found = coroutines_.find({lease.key, lease.token});
  if (found == coroutines_.end()) return;  // its end is on its way
  if (!found->second->state->pausing()) {
    // Suspended in something that is not ours, which will resume it: the frame must stay.
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
  if (const auto& session = found->second.state->request().session_id) {
    if (--sessions_[*session] == 0) sessions_.erase(*session);
  }
  // At a shutdown its lease was kept until now; nothing renews it once the runtime has ended.
  const bool shutdown = found->second.state->cause() == StopCause::shutdown;
  if (shutdown && !detail::mutant("abandoned_at_shutdown_keeps_its_lease"))
    events_.given_back({lease, host_.leases.release(lease)});
  abandoned_.emplace(AttemptKey{lease.key, lease.token}, std::move(found->second));
  running_.erase(found);
  abandoned_count_.store(abandoned_.size());
  instruments_.abandoned(abandoned_.size());
  if (is_function) threads_.lost();
  if (abandoned_.size() == limits_.max_abandoned) {
    host_.log(LogLevel::error, "no more activities are taken: " + std::to_string(abandoned_.size()) +
                                   " were asked to stop and still run; they must heed their stop token");
  }
  events_.place_free();
}

// -- the end --------------------------------------------------------------------------------------

void Activities::ended(const ActivityLease& lease, std::variant<Payload, Failure> result) {
  if (const auto late = abandoned_.find({lease.key, lease.token}); late != abandoned_.end()) {
    const bool is_function = std::holds_alternative<ActivityHandler::Function>(late->second.handler->run);
    abandoned_.erase(late);
    abandoned_count_.store(abandoned_.size());
    instruments_.abandoned(abandoned_.size());
    if (is_function) threads_.found();
    events_.place_free();
    return;
  }
  const auto found = running_.find(lease.key);
  if (found == running_.end() || found->second.lease().token != lease.token) return;
  const Running running = std::move(found->second);
  running_.erase(found);
  std::optional<Heartbeat> unsent = host_.leases.release(lease);
  if (const auto& session = running.state->request().session_id) {
    if (--sessions_[*session] == 0) sessions_.erase(*session);
  }
  if (instruments_.on()) {
    instruments_.activity_ended(running.state->request(), outcome_of(*running.state, result),
                                env_.clock().lease_now() - running.began);
  }
  // Whoever was refused a place comes first: the turn that this end causes may want it, too, and the turns of
  // a chain would want it again and again.
  events_.place_free();
  deliver(running, std::move(unsent), std::move(result));
}

void Activities::deliver(const Running& running, std::optional<Heartbeat> unsent,
                         std::variant<Payload, Failure> result) {
  switch (outcome_of(*running.state, result)) {
    // The result came after the stop. The store has decided without it, and would refuse it.
    case ActivityOutcome::cancelled:
    case ActivityOutcome::lease_lost:
      return;
    case ActivityOutcome::given_back:
      return events_.given_back({running.lease(), std::move(unsent)});
    default:
      events_.finished(
          FinishedActivity{running.state->request().instance, running.lease(), std::move(result)});
  }
}

}  // namespace duramen::inline v0::runtime
