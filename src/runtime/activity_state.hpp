// One activity while it runs, shared between the code that runs it and the runtime that may ask it to stop.
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>
#include <utility>

#include <duramen/activity.hpp>
#include <duramen/env.hpp>
#include <duramen/failure.hpp>
#include <duramen/work_item.hpp>

namespace duramen::inline v0::detail {

class ActivityState {
 public:
  ActivityState(ActivityExecute item, std::uint32_t attempt, Env& env)
      : item_(std::move(item)), attempt_(attempt), env_(env) {}

  [[nodiscard]] const ActivityExecute& item() const noexcept { return item_; }
  [[nodiscard]] std::uint32_t attempt() const noexcept { return attempt_; }
  [[nodiscard]] Env& env() const noexcept { return env_; }
  [[nodiscard]] std::stop_token stop_token() const noexcept { return stop_.get_token(); }

  /// Says why; the first cause wins. False if there was one. Does not yet stop anything.
  bool set_cause(StopCause cause, CancelReason reason) noexcept {
    std::uint16_t none = 0;
    const auto value = static_cast<std::uint16_t>(static_cast<unsigned>(cause) | static_cast<unsigned>(reason) << 8u);
    return cause_.compare_exchange_strong(none, value);
  }
  /// Runs the activity's stop callbacks on the calling thread.
  void request_stop() { stop_.request_stop(); }

  [[nodiscard]] StopCause cause() const noexcept { return static_cast<StopCause>(cause_.load() & 0xffu); }
  [[nodiscard]] CancelReason reason() const noexcept { return static_cast<CancelReason>(cause_.load() >> 8u); }

 private:
  const ActivityExecute item_;
  const std::uint32_t attempt_;
  Env& env_;
  std::stop_source stop_;
  std::atomic<std::uint16_t> cause_{0};  // StopCause in the low byte, CancelReason in the high one
};

}  // namespace duramen::v0::detail
