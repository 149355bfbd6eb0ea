// Fires the stop tokens of activities, away from the loops: stop callbacks are user code.
//
// A callback should only wake its activity. A callback that blocks keeps its thread, and two of them would
// keep all threads of the lane. So a warning names a callback that takes too long, and another thread
// replaces its thread until it returns. At most max_replaced threads are replaced: callbacks that block
// without end must not fill the process with threads.
#pragma once

#include "runtime/activity_state.hpp"
#include "runtime/instruments.hpp"
#include "runtime/lane_threads.hpp"
#include "runtime/log.hpp"
#include <duramen/env.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

namespace duramen::inline v0::runtime {

class StopNotifier {
 public:
  static constexpr Duration slow_callback{50};
  static constexpr std::size_t max_replaced = 64;

  StopNotifier(Env& env, const Log& log, const Instruments& instruments);
  StopNotifier(const StopNotifier&) = delete;
  StopNotifier& operator=(const StopNotifier&) = delete;

  /// A cancel to be timed: from its decision if this node decided it, otherwise from its arrival.
  struct Cancel {
    LeaseTime since;
    bool decided_here = false;
  };
  /// Fires the activity's stop token on the cancellation lane.
  void notify(std::shared_ptr<detail::ActivityState> state);
  /// The same, and records how long the cancel took to arrive.
  void notify_cancel(std::shared_ptr<detail::ActivityState> state, const Cancel& cancel);

 private:
  struct Notice {
    std::shared_ptr<detail::ActivityState> state;
    LeaseTime began;
    bool slow = false;
    bool replaced = false;  // another thread works in place of its thread
  };
  using Notices = std::list<Notice>;
  void fire(const std::shared_ptr<detail::ActivityState>& state);
  void fire_cancel(const std::shared_ptr<detail::ActivityState>& state, const Cancel& cancel);
  [[nodiscard]] Notices::iterator begin(std::shared_ptr<detail::ActivityState> state);
  void end(Notices::iterator notice);
  void check_at(LeaseTime when);
  void check();

  Env& env_;
  const Log& log_;
  const Instruments& instruments_;
  LaneThreads threads_;

  std::mutex mutex_;
  // Guarded by mutex_.
  Notices under_way_;         // at most one per thread of the lane, the oldest first
  bool planned_ = false;      // there is never more than one check
  std::size_t replaced_ = 0;  // threads
};

}  // namespace duramen::inline v0::runtime
