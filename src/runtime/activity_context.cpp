#include "base/fnv1a.hpp"
#include "base/longest_wait.hpp"
#include "runtime/activity_state.hpp"
#include <duramen/activity.hpp>
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <utility>

namespace duramen::inline v0 {

std::string_view to_string(StopCause cause) noexcept {
  switch (cause) {
    case StopCause::none:
      return "none";
    case StopCause::cancelled:
      return "cancelled";
    case StopCause::lease_lost:
      return "lease_lost";
    case StopCause::shutdown:
      return "shutdown";
  }
  return "none";
}

const InstanceId& ActivityContext::instance_id() const noexcept { return state_->request().instance; }
ExecutionId ActivityContext::execution_id() const noexcept { return state_->request().key.execution; }
EventId ActivityContext::activity_id() const noexcept { return state_->request().key.activity; }
const std::string& ActivityContext::activity_name() const noexcept { return state_->request().name; }
const std::string& ActivityContext::orchestration_name() const noexcept {
  return state_->request().orchestration_name;
}
const std::string& ActivityContext::orchestration_version() const noexcept {
  return state_->request().orchestration_version;
}
const std::optional<std::string>& ActivityContext::tag() const noexcept { return state_->request().tag; }
const std::optional<std::string>& ActivityContext::session_id() const noexcept {
  return state_->request().session_id;
}
const NodeId& ActivityContext::node() const noexcept { return state_->link().node(); }
std::uint32_t ActivityContext::attempt() const noexcept { return state_->attempt(); }
std::uint64_t ActivityContext::fencing_token() const noexcept {
  if (detail::mutant("fencing_token_is_constant")) return 1;
  return state_->work().fence;
}

void ActivityContext::heartbeat() {
  state_->link().use(
      [this](const detail::ActivityHost& host) { host.leases.beat(state_->work().lease, std::nullopt); });
}
void ActivityContext::send_heartbeat(Payload details) {
  if (const Result<void> fits = check_payload(details, state_->link().max_payload_bytes()); !fits) {
    const bool too_large = fits.error().code == ErrorCode::limit_exceeded;
    if (too_large && !detail::mutant("large_heartbeats_are_application_errors"))
      throw LimitError(fits.error().message);
    throw ApplicationError("InvalidHeartbeat", fits.error().message, false);
  }
  state_->set_details(details);
  state_->link().use([this, &details](const detail::ActivityHost& host) {
    host.leases.beat(state_->work().lease, std::move(details));
  });
}
const std::optional<Payload>& ActivityContext::last_heartbeat() const noexcept {
  return state_->earlier_details();
}

void ActivityContext::trace(LogLevel level, std::string text) {
  state_->link().use([this, level, &text](const detail::ActivityHost& host) {
    const ActivityRequest& item = state_->request();
    host.log(level, text,
             {{"instance_id", item.instance.value},
              {"execution_id", std::to_string(item.key.execution.value)},
              {"orchestration_name", item.orchestration_name},
              {"orchestration_version", item.orchestration_version},
              {"activity_name", item.name},
              {"activity_id", std::to_string(item.key.activity.value)},
              {"attempt", std::to_string(state_->attempt())},
              {"worker_id", host.node.value}},
             LogSource::activity);
  });
}

bool ActivityContext::block(Duration delay) {
  bool waited = false;
  state_->link().use([this, delay, &waited](const detail::ActivityHost& host) {
    waited = host.env.pause_activity(base::no_longer(delay), state_->stop_token());
  });
  return waited;
}

namespace {
std::string key_of(const detail::ActivityState& state, EventId event) {
  const ActivityKey& key = state.request().key;
  const std::string store =
      detail::mutant("keys_repeat_between_stores") ? std::string{} : state.link().store_id() + "-";
  // A restored backup gives the numbers of lost instances to new ones: these have other ids.
  const std::uint64_t id = detail::mutant("keys_repeat_after_a_restore")
                               ? 0
                               : base::Fnv1a{}.add(state.request().instance.value).value();
  return store + std::to_string(id) + "-" + std::to_string(key.incarnation.value) + "-" +
         std::to_string(key.execution.value) + "-" + std::to_string(event.value);
}
}  // namespace

std::string ActivityContext::idempotency_key() const {
  const ActivityRequest& request = state_->request();
  return key_of(*state_, request.retry_of ? request.retry_of : request.key.activity);
}
std::string ActivityContext::attempt_key() const { return key_of(*state_, state_->request().key.activity); }

std::stop_token ActivityContext::stop_token() const noexcept { return state_->stop_token(); }
bool ActivityContext::is_cancelled() const noexcept { return state_->stop_token().stop_requested(); }
StopCause ActivityContext::stop_cause() const noexcept { return state_->cause(); }
std::optional<CancelReason> ActivityContext::cancel_reason() const noexcept {
  if (state_->cause() != StopCause::cancelled) return std::nullopt;
  return state_->reason();
}

namespace detail {

/// A suspended coroutine that the clock or a stop wakes, whichever comes first. Outlives the frame if a
/// wake-up is under way when the frame ends.
class PauseAwaiter::Pause : public std::enable_shared_from_this<Pause> {
 public:
  Pause(std::shared_ptr<ActivityState> state, Env& env, std::coroutine_handle<> handle)
      : state_(std::move(state)), env_(env), handle_(handle) {}

  /// Arms on the activity executor, which runs wake-ups as well: so no wake-up runs while this is half done,
  /// whatever thread suspended the coroutine.
  void arm(std::optional<LeaseTime> until) {
    env_.activity_loop().post([self = shared_from_this(), until] { self->arm_here(until); });
  }
  /// The frame is gone. Called on the executor that runs the coroutine, so no wake-up is half done.
  void disarm() {
    if (!ended_) {
      ended_ = true;
      state_->set_pausing(false);
    }
    stop_callback_.reset();
  }
  [[nodiscard]] bool ended_by_clock() const noexcept { return by_clock_; }

 private:
  struct Wake {
    Pause* pause;
    // On the thread that requests the stop: only posts.
    void operator()() const {
      pause->env_.activity_loop().post([self = pause->shared_from_this()] { self->end(false); });
    }
  };

  void arm_here(std::optional<LeaseTime> until) {
    if (ended_) return;
    if (until) sleep_until(*until);
    // A coroutine that knows of the stop sleeps as part of its clean-up.
    if (!until || !state_->stop_noticed()) stop_callback_.emplace(state_->stop_token(), Wake{this});
  }
  void sleep_until(LeaseTime until) {
    // A long sleep is cut into slices, so that a pause that ended early does not stay queued for days.
    constexpr Duration slice = std::chrono::minutes{1};
    const LeaseTime next = std::min(until, env_.clock().lease_now() + slice);
    env_.activity_loop().post_at(next,
                                 [self = shared_from_this(), until, next] { self->slept(until, next); });
  }
  void slept(LeaseTime until, LeaseTime reached) {
    if (ended_) return;
    if (reached < until) return sleep_until(until);
    end(true);
  }
  // Always on the activity executor, so that the two wake-ups cannot meet.
  void end(bool by_clock) {
    if (ended_) return;
    ended_ = true;
    by_clock_ = by_clock;
    if (!by_clock) std::ignore = state_->take_stop_notice();
    state_->set_pausing(false);
    handle_.resume();
  }

  std::shared_ptr<ActivityState> state_;
  // Valid while a pause can begin or end: before the link is closed.
  Env& env_;
  std::coroutine_handle<> handle_;
  bool ended_ = false;
  bool by_clock_ = false;
  std::optional<std::stop_callback<Wake>> stop_callback_;
};

PauseAwaiter::PauseAwaiter(std::shared_ptr<ActivityState> state, std::optional<Duration> delay)
    : state_(std::move(state)), delay_(delay) {}

PauseAwaiter::~PauseAwaiter() {
  if (pause_) pause_->disarm();
}

bool PauseAwaiter::await_ready() const noexcept {
  if (!state_->stop_token().stop_requested()) return false;
  // cancelled() takes the notice as well: later sleeps are part of the clean-up.
  const bool news = state_->take_stop_notice();
  return !delay_ || news;
}

bool PauseAwaiter::await_suspend(std::coroutine_handle<> handle) {
  if (const auto before = std::exchange(pause_, nullptr)) before->disarm();  // awaited once more
  // From set_pausing() on, this awaiter may be destroyed at any time.
  const std::shared_ptr<ActivityState> state = state_;
  const bool sleeps = state->link().use([this, &state, handle](const ActivityHost& host) {
    const auto pause = std::make_shared<Pause>(state, host.env, handle);
    std::optional<LeaseTime> until;
    if (delay_) until = host.env.clock().lease_now() + base::no_longer(*delay_);
    pause_ = pause;
    state->set_pausing(true);
    pause->arm(until);
  });
  // If the runtime has ended, the coroutine is destroyed in its sleep, as at the end of the grace period.
  return sleeps || state->destroy_frame();
}

bool PauseAwaiter::await_resume() const noexcept { return pause_ && pause_->ended_by_clock(); }

}  // namespace detail
}  // namespace duramen::inline v0
