#include "runtime/stop_notifier.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace duramen::inline v0::runtime {

StopNotifier::StopNotifier(Env& env, const Log& log, const Instruments& instruments)
    : env_(env),
      log_(log),
      instruments_(instruments),
      threads_(env, Lane::cancellation, "stop callbacks", log) {}

void StopNotifier::notify(std::shared_ptr<detail::ActivityState> state) {
  env_.run_elsewhere(Lane::cancellation, [this, state = std::move(state)] { fire(state); });
}

void StopNotifier::notify_cancel(std::shared_ptr<detail::ActivityState> state, const Cancel& cancel) {
  env_.run_elsewhere(Lane::cancellation,
                     [this, state = std::move(state), cancel] { fire_cancel(state, cancel); });
}

/// On the cancellation lane.
void StopNotifier::fire(const std::shared_ptr<detail::ActivityState>& state) {
  const Notices::iterator notice = begin(state);
  state->request_stop(env_.clock().lease_now());
  end(notice);
}

void StopNotifier::fire_cancel(const std::shared_ptr<detail::ActivityState>& state, const Cancel& cancel) {
  fire(state);
  if (!instruments_.on()) return;
  const std::chrono::duration<double> took = *state->notified_at() - cancel.since;
  instruments_.cancel_delivered(took.count(), cancel.decided_here);
}

StopNotifier::Notices::iterator StopNotifier::begin(std::shared_ptr<detail::ActivityState> state) {
  const LeaseTime now = env_.clock().lease_now();
  std::lock_guard lock(mutex_);
  if (!planned_) check_at(now + slow_callback);
  return under_way_.insert(under_way_.end(), Notice{std::move(state), now});
}

void StopNotifier::end(Notices::iterator notice) {
  bool replaced = false;
  {
    std::lock_guard lock(mutex_);
    replaced = notice->replaced;
    if (replaced) --replaced_;
    under_way_.erase(notice);
  }
  if (replaced) threads_.found();
}

/// With mutex_ held. The main loop may hang in a store call; the lease loop calls no store.
void StopNotifier::check_at(LeaseTime when) {
  planned_ = true;
  env_.lease_loop().post_at(when, [this] { check(); });
}

/// On the lease loop. Planned while a callback is under way that is not known to be slow.
void StopNotifier::check() {
  const LeaseTime now = env_.clock().lease_now();
  std::vector<std::shared_ptr<detail::ActivityState>> slow;
  std::size_t lost = 0;
  {
    std::lock_guard lock(mutex_);
    planned_ = false;
    for (Notice& notice : under_way_) {
      if (notice.slow) continue;
      if (now < notice.began + slow_callback) {
        check_at(notice.began + slow_callback);
        break;  // the others are younger
      }
      notice.slow = true;
      slow.push_back(notice.state);
      if (replaced_ == max_replaced || detail::mutant("slow_stop_callback_holds_up_the_others")) continue;
      notice.replaced = true;
      ++replaced_;
      ++lost;
    }
  }
  for (std::size_t i = 0; i < lost; ++i) threads_.lost();
  for (const auto& state : slow) {
    log_(LogLevel::warning,
         "a stop callback of activity '" + state->request().name + "' has run for over " +
             std::to_string(slow_callback.count()) +
             " ms; it should only wake the activity, which then does the slow work",
         {{"instance_id", state->request().instance.value},
          {"activity_name", state->request().name},
          {"activity_id", std::to_string(state->request().key.activity.value)}});
  }
}

}  // namespace duramen::inline v0::runtime
