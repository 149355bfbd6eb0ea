// Fires the stop tokens of activities, away from the loops: stop callbacks are user code.
//
// A callback should only wake somebody. One that blocks keeps its thread, and two of them would keep all: so
// a warning names a callback that takes too long, and another thread takes the place of its thread until
// it returns. At most max_replaced do: callbacks that block without end must not fill the process with
// threads.
#pragma once

#include "runtime/activity_state.hpp"
#include "runtime/lane_threads.hpp"
#include "runtime/log.hpp"
#include <duramen/env.hpp>
#include <duramen/function.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace duramen::inline v0::runtime {

class StopNotifier {
 public:
  static constexpr Duration slow_callback{50};
  static constexpr std::size_t max_replaced = 64;

  StopNotifier(Env& env, const Log& log);
  StopNotifier(const StopNotifier&) = delete;
  StopNotifier& operator=(const StopNotifier&) = delete;

  /// Fires the activity's stop token on the cancellation lane, then calls `after` there, if it is given.
  void notify(std::shared_ptr<detail::ActivityState> state, UniqueFunction<void()> after = {});

 private:
  struct Notice {
    std::shared_ptr<detail::ActivityState> state;
    LeaseTime began;
    bool slow = false;
    bool replaced = false;  // another thread has the place of its thread
  };
  using Notices = std::list<Notice>;
  [[nodiscard]] Notices::iterator begin(std::shared_ptr<detail::ActivityState> state);
  void end(Notices::iterator notice);
  void watch(LeaseTime when);
  void check(LeaseTime planned);

  Env& env_;
  const Log& log_;
  LaneThreads threads_;

  std::mutex mutex_;
  Notices under_way_;  // guarded by mutex_: one per thread of the lane at most, the oldest first
  std::optional<LeaseTime> planned_;  // guarded by mutex_: the next check; there is never more than one
  std::size_t replaced_ = 0;          // guarded by mutex_: threads
};

}  // namespace duramen::inline v0::runtime
