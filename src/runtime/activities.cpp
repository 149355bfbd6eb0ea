#include "runtime/activities.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "base/check.hpp"

namespace duramen::inline v0::runtime {

namespace {

constexpr std::size_t remembered_steals = 4096;

/// What an activity returned, if it may travel.
std::variant<Payload, Failure> checked(Payload payload, std::uint32_t attempt) {
  const Result<void> ok = check_payload(payload, default_payload_limit);
  if (ok) return payload;
  Failure failure;
  failure.kind = ok.error().code == ErrorCode::limit_exceeded ? FailureKind::limit : FailureKind::application;
  failure.type = "InvalidResult";
  failure.message = ok.error().message;
  failure.attempt = attempt;
  return failure;
}

std::variant<Payload, Failure> failed(const std::exception_ptr& error, std::uint32_t attempt) {
  Failure failure = failure_from(error);
  failure.attempt = attempt;
  return failure;
}

}  // namespace

/// A coroutine activity under way. Owns the frame and the context it refers to; lives and dies on the activity loop.
struct Activities::CoroutineRun {
  explicit CoroutineRun(std::shared_ptr<detail::ActivityState> s) : state(std::move(s)), context(state) {}
  std::shared_ptr<detail::ActivityState> state;
  ActivityContext context;
  std::optional<ActivityTask<Payload>> task;
};

Activities::~Activities() = default;

Activities::Activities(Env& env, const Registry& registry, LeaseKeeper& leases, std::size_t places, Events events)
    : env_(env), registry_(registry), leases_(leases), places_(places), events_(std::move(events)) {}

void Activities::run(ActivityExecute item, const WorkLease& lease, std::uint32_t attempt, LeaseTime since) {
  auto handler = registry_.find_activity(item.name);
  DURAMEN_CHECK(handler != nullptr);  // only what is registered is fetched or born leased
  if (const auto before = running_.find(lease.key); before != running_.end()) {
    // We were away for longer than the lease, and were given it again before we noticed. The attempt under way is not
    // the one that counts; nobody will ask for it by its lease any more.
    stop(WorkLease(before->second.lease), StopCause::lease_lost, {});
  }
  auto state = std::make_shared<detail::ActivityState>(std::move(item), attempt, env_);
  auto [at, inserted] = running_.insert_or_assign(lease.key, Running{lease, std::move(state), std::move(handler)});
  leases_.keep(lease, since);
  const Running running = at->second;

  const auto early = std::find_if(stolen_early_.begin(), stolen_early_.end(),
                                  [&lease](const auto& stolen) { return stolen.first == lease; });
  if (early != stolen_early_.end()) {
    const CancelReason reason = early->second;
    stolen_early_.erase(early);
    stop(lease, StopCause::cancelled, reason);
  }
  if (std::holds_alternative<ActivityHandler::Function>(running.handler->run)) {
    run_function(running);
  } else {
    run_coroutine(running);
  }
}

void Activities::run_function(const Running& running) {
  env_.run_elsewhere(Lane::activities, [this, running] {
    std::variant<Payload, Failure> result;
    if (running.state->cause() != StopCause::none) {
      result = Failure::application("NotStarted", "stopped before it began");
    } else {
      try {
        ActivityContext context(running.state);
        const auto& function = std::get<ActivityHandler::Function>(running.handler->run);
        result = checked(function(context, running.state->item().input), running.state->attempt());
      } catch (...) {
        result = failed(std::current_exception(), running.state->attempt());
      }
    }
    env_.loop().post([this, lease = running.lease, result = std::move(result)]() mutable {
      ended(lease.key, lease.token, std::move(result));
    });
  });
}

void Activities::run_coroutine(const Running& running) {
  env_.activity_loop().post([this, running] {
    auto& run = coroutines_[{running.lease.key, running.lease.token}];
    run = std::make_unique<CoroutineRun>(running.state);
    const auto& coroutine = std::get<ActivityHandler::Coroutine>(running.handler->run);
    run->task.emplace(coroutine(run->context, running.state->item().input));
    // The frame is destroyed by the job that its end posts: never from within.
    run->task->start([this, lease = running.lease, handler = running.handler] {
      env_.activity_loop().post([this, lease, handler] {
        const auto node = coroutines_.extract({lease.key, lease.token});
        CoroutineRun& over = *node.mapped();
        std::variant<Payload, Failure> result;
        try {
          result = checked(over.task->take(), over.state->attempt());
        } catch (...) {
          result = failed(std::current_exception(), over.state->attempt());
        }
        over.task.reset();
        env_.loop().post([this, lease, result = std::move(result)]() mutable {
          ended(lease.key, lease.token, std::move(result));
        });
      });
    });
  });
}

void Activities::stop(const WorkLease& lease, StopCause cause, CancelReason reason) {
  const auto found = running_.find(lease.key);
  if (found == running_.end() || found->second.lease.token != lease.token) {
    if (cause != StopCause::cancelled) return;
    stolen_early_.emplace_back(lease, reason);
    if (stolen_early_.size() > remembered_steals) stolen_early_.pop_front();
    return;
  }
  const std::shared_ptr<detail::ActivityState>& state = found->second.state;
  if (!state->set_cause(cause, reason)) return;
  leases_.release(lease);
  env_.run_elsewhere(Lane::cancellation, [state] { state->request_stop(); });
}

void Activities::stop(const ActivityKey& key, CancelReason reason) {
  const auto found = running_.find(key);
  if (found != running_.end()) stop(WorkLease(found->second.lease), StopCause::cancelled, reason);
}

void Activities::stop_execution(Incarnation incarnation, ExecutionId execution, CancelReason reason) {
  for (const auto& [key, running] : running_) {
    if (key.incarnation == incarnation && key.execution == execution) stop(key, reason);
  }
}

void Activities::stop_all(StopCause cause) {
  for (const auto& [key, running] : running_) {
    // Their leases are kept until they have really ended: nobody else should begin while they still run.
    if (!running.state->set_cause(cause, {})) continue;
    env_.run_elsewhere(Lane::cancellation, [state = running.state] { state->request_stop(); });
  }
}

void Activities::ended(const ActivityKey& key, LeaseToken token, std::variant<Payload, Failure> result) {
  const auto found = running_.find(key);
  if (found == running_.end() || found->second.lease.token != token) return;
  const Running running = std::move(found->second);
  running_.erase(found);
  leases_.release(running.lease);

  switch (running.state->cause()) {
    case StopCause::cancelled:
    case StopCause::lease_lost:
      break;  // nobody waits for it, or it is somebody else's now: whatever it returned reaches nobody
    case StopCause::shutdown:
      if (std::holds_alternative<Failure>(result)) {
        events_.given_back(running.lease);
        break;
      }
      [[fallthrough]];
    case StopCause::none:
      events_.finished(FinishedActivity{running.state->item().instance, running.lease, std::move(result)});
      break;
  }
  events_.place_free();
}

}  // namespace duramen::v0::runtime
