// One activity while it runs, shared between the code that runs it and the runtime that may ask it to stop.
#pragma once

#include "runtime/activity_link.hpp"
#include <duramen/activity.hpp>
#include <duramen/detail/mutant.hpp>
#include <duramen/failure.hpp>
#include <duramen/message.hpp>
#include <duramen/provider.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace duramen::inline v0::detail {

/// The state of an activity when it was asked to stop.
enum class StopAnswer : std::uint8_t {
  asked_before,  ///< the earlier cause stays
  not_begun,     ///< from now on it cannot begin
  runs,          ///< it has to be notified
  has_returned,  ///< its result is on its way to the loop
};

class ActivityState {
 public:
  ActivityState(LeasedActivity work, std::shared_ptr<ActivityLink> link)
      : work_(std::move(work)), link_(std::move(link)) {}

  [[nodiscard]] const ActivityRequest& request() const noexcept { return work_.request; }
  [[nodiscard]] const LeasedActivity& work() const noexcept { return work_; }
  /// Counted over the retries of the step.
  [[nodiscard]] std::uint32_t attempt() const noexcept {
    return work_.request.attempts_before + work_.attempt;
  }
  /// Left by an earlier attempt at the step.
  [[nodiscard]] const std::optional<Payload>& earlier_details() const noexcept {
    return work_.heartbeat ? work_.heartbeat : work_.request.heartbeat;
  }
  /// The last details of this attempt, or those of an earlier one. Any thread.
  [[nodiscard]] std::optional<Payload> last_details() const {
    const std::lock_guard lock(details_mutex_);
    return details_ ? details_ : earlier_details();
  }
  void set_details(Payload details) {
    const std::lock_guard lock(details_mutex_);
    details_ = std::move(details);
  }
  /// The link to the node that runs it.
  [[nodiscard]] ActivityLink& link() const noexcept { return *link_; }
  [[nodiscard]] std::stop_token stop_token() const noexcept { return stop_.get_token(); }

  /// Called once, by the thread that is about to run the activity's code. False if the code must not run.
  [[nodiscard]] bool begin(TimePoint now) noexcept {
    started_at_.store(now);
    return (progress_.fetch_or(begun) & dropped) == 0;
  }
  /// This attempt, once it has begun.
  [[nodiscard]] AttemptInfo ran() const { return {started_at_.load(), attempt(), link_->node()}; }
  /// The activity's code has returned or thrown.
  void set_returned() noexcept { progress_.fetch_or(returned); }
  [[nodiscard]] bool has_returned() const noexcept { return (progress_.load() & returned) != 0; }

  /// Records the cause; the first one wins. Does not fire the stop token. An activity that has not begun is
  /// dropped. A shutdown does not affect one that has returned: its result can still be stored.
  StopAnswer ask_to_stop(StopCause cause, CancelReason reason) noexcept {
    std::uint32_t now = progress_.load();
    while (true) {
      if ((now & 0xffu) != 0) return StopAnswer::asked_before;
      if ((now & returned) != 0 && cause == StopCause::shutdown) return StopAnswer::has_returned;
      const bool drops = (now & begun) == 0 && !mutant("queued_activity_begins_though_stopped");
      const std::uint32_t next = now | static_cast<std::uint32_t>(cause) |
                                 static_cast<std::uint32_t>(reason) << 8u | (drops ? dropped : 0u);
      if (!progress_.compare_exchange_weak(now, next)) continue;
      if (drops) return StopAnswer::not_begun;
      return (now & returned) != 0 ? StopAnswer::has_returned : StopAnswer::runs;
    }
  }
  /// Runs the activity's stop callbacks on the calling thread.
  void request_stop(LeaseTime now) {
    notified_at_.store(now);
    stop_.request_stop();
  }
  /// When its stop token fired; absent if it has not fired.
  [[nodiscard]] std::optional<LeaseTime> notified_at() const noexcept {
    const LeaseTime at = notified_at_.load();
    return at == LeaseTime::max() ? std::nullopt : std::optional(at);
  }

  /// The time limit for which this node stops the activity. Set before ask_to_stop().
  void set_passed_limit(TimeoutKind which) noexcept { passed_limit_.store(static_cast<int>(which)); }
  [[nodiscard]] std::optional<TimeoutKind> passed_limit() const noexcept {
    const int which = passed_limit_.load();
    return which < 0 ? std::nullopt : std::optional(static_cast<TimeoutKind>(which));
  }

  [[nodiscard]] StopCause cause() const noexcept { return static_cast<StopCause>(progress_.load() & 0xffu); }
  [[nodiscard]] CancelReason reason() const noexcept {
    return static_cast<CancelReason>(progress_.load() >> 8u & 0xffu);
  }

  // For coroutines.

  /// True for the first sleep that learns of the stop; later sleeps run in full.
  [[nodiscard]] bool take_stop_notice() noexcept { return !stop_noticed_.exchange(true); }
  [[nodiscard]] bool stop_noticed() const noexcept { return stop_noticed_; }
  /// Suspended in an awaitable of Duramen, so that its frame may be destroyed: on the activity loop or, once
  /// that has stopped and the link is closed, by the end of the node. Set in a visit of the link: the end of
  /// the node either sees it or comes first. Unset on the activity loop.
  void set_pausing(bool pausing) noexcept { pausing_ = pausing; }
  [[nodiscard]] bool pausing() const noexcept { return pausing_; }
  /// The frame, which another object owns. Set before the coroutine begins.
  void set_frame(std::weak_ptr<std::optional<ActivityTask<Payload>>> frame) { frame_ = std::move(frame); }
  /// Ends a coroutine that goes to sleep after the end of the node, when nothing can wake it. Called while it
  /// is suspended. False if there is no frame.
  bool destroy_frame() {
    const auto frame = frame_.lock();
    if (frame) frame->reset();
    return frame != nullptr;
  }

 private:
  const LeasedActivity work_;
  const std::shared_ptr<ActivityLink> link_;
  std::stop_source stop_;
  // StopCause in the lowest byte, CancelReason in the next, then the progress. In one word, so that a thread
  // about to begin the activity and the loop about to stop it agree on which came first.
  static constexpr std::uint32_t begun = 1u << 16u;
  static constexpr std::uint32_t returned = 1u << 17u;
  static constexpr std::uint32_t dropped = 1u << 18u;
  std::atomic<std::uint32_t> progress_{0};
  std::atomic<TimePoint> started_at_{TimePoint{}};
  std::atomic<LeaseTime> notified_at_{LeaseTime::max()};
  std::atomic<int> passed_limit_{-1};
  std::atomic<bool> stop_noticed_{false};
  std::atomic<bool> pausing_{false};
  std::weak_ptr<std::optional<ActivityTask<Payload>>> frame_;
  mutable std::mutex details_mutex_;
  std::optional<Payload> details_;
};

}  // namespace duramen::inline v0::detail
