#include "runtime/watchdog.hpp"

#include <algorithm>
#include <string>

namespace duramen::inline v0::runtime {

void Watchdog::check_later() {
  const Duration pause = std::max(limit_ / 2, Duration{1});
  env_.lease_loop().post_at(env_.clock().lease_now() + pause, [this] { check(); });
}

void Watchdog::check() {
  std::optional<Turn> slow;
  {
    std::lock_guard lock(mutex_);
    if (stopped_) return;
    if (turn_ && !turn_->named && env_.clock().lease_now() - turn_->began >= limit_) {
      turn_->named = true;
      slow = turn_;
    }
  }
  if (slow) {
    log_(LogLevel::warning,
         "a turn takes longer than " + std::to_string(limit_.count()) +
             " ms and delays all others: orchestration code must not block; move the work into an activity",
         {{"instance_id", slow->instance.value}});
  }
  check_later();
}

}  // namespace duramen::inline v0::runtime
