// One activity while it runs, shared between the code that runs it and the runtime that may ask it to stop.
#pragma once

#include "runtime/activity_link.hpp"
#include <duramen/activity.hpp>
#include <duramen/failure.hpp>
#include <duramen/provider.hpp>
#include <duramen/work_item.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace duramen::inline v0::detail {

class ActivityState {
 public:
  ActivityState(WorkItemLeased work, std::shared_ptr<ActivityLink> link)
      : work_(std::move(work)), link_(std::move(link)) {}

  [[nodiscard]] const ActivityExecute& item() const noexcept { return work_.activity; }
  [[nodiscard]] const WorkItemLeased& work() const noexcept { return work_; }
  [[nodiscard]] std::uint32_t attempt() const noexcept { return work_.attempt; }
  /// To the node that runs it.
  [[nodiscard]] ActivityLink& link() const noexcept { return *link_; }
  [[nodiscard]] std::stop_token stop_token() const noexcept { return stop_.get_token(); }

  /// Says why; the first cause wins. False if there was one. Does not yet stop anything.
  bool set_cause(StopCause cause, CancelReason reason) noexcept {
    std::uint16_t none = 0;
    const auto value =
        static_cast<std::uint16_t>(static_cast<unsigned>(cause) | static_cast<unsigned>(reason) << 8u);
    return cause_.compare_exchange_strong(none, value);
  }
  /// Runs the activity's stop callbacks on the calling thread.
  void request_stop() { stop_.request_stop(); }

  [[nodiscard]] StopCause cause() const noexcept { return static_cast<StopCause>(cause_.load() & 0xffu); }
  [[nodiscard]] CancelReason reason() const noexcept {
    return static_cast<CancelReason>(cause_.load() >> 8u);
  }

  // A coroutine's.

  /// True once for the sleep that learns of the stop; later ones are left alone.
  [[nodiscard]] bool take_stop_notice() noexcept { return !stop_noticed_.exchange(true); }
  [[nodiscard]] bool stop_noticed() const noexcept { return stop_noticed_; }
  /// Suspended in one of our own awaitables, where its frame may be destroyed: on the activity loop or, once
  /// that has stopped and the link is closed, by the end of the node. Set in a visit of the link, so that the
  /// end sees it or comes first; unset on the activity loop.
  void set_pausing(bool pausing) noexcept { pausing_ = pausing; }
  [[nodiscard]] bool pausing() const noexcept { return pausing_; }
  /// The frame, in the hands of its owner. Set before the coroutine begins.
  void set_frame(std::weak_ptr<std::optional<ActivityTask<Payload>>> frame) { frame_ = std::move(frame); }
  /// How a coroutine ends that goes to sleep after the end of the node, when nothing can wake it. Called
  /// where it is suspended. False if there is no frame of ours.
  bool destroy_frame() {
    const auto frame = frame_.lock();
    if (frame) frame->reset();
    return frame != nullptr;
  }

 private:
  const WorkItemLeased work_;
  const std::shared_ptr<ActivityLink> link_;
  std::stop_source stop_;
  std::atomic<std::uint16_t> cause_{0};  // StopCause in the low byte, CancelReason in the high one
  std::atomic<bool> stop_noticed_{false};
  std::atomic<bool> pausing_{false};
  std::weak_ptr<std::optional<ActivityTask<Payload>>> frame_;
};

}  // namespace duramen::inline v0::detail
