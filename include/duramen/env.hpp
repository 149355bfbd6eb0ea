// The environment of the runtime: time, randomness and threads.
//
// The runtime keeps all its state on one loop and reaches the outside only through an Env. In production an
// Env consists of threads and clocks; in tests it is one queue and a virtual clock. The same runtime code
// runs on both.
#pragma once

#include <duramen/function.hpp>
#include <duramen/time.hpp>

#include <cstdint>
#include <stop_token>

namespace duramen::inline v0 {

using Job = UniqueFunction<void()>;

/// Runs jobs one after the other, never two at once.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Callable from any thread. Jobs posted by one thread run in that order.
  virtual void post(Job job) = 0;
  /// Like post(), but runs before jobs queued with post(). Meant for work that blocks a caller.
  virtual void post_first(Job job) = 0;
  /// Runs `job` at `when` or later.
  virtual void post_at(LeaseTime when, Job job) = 0;
};

/// Classes of work that may block, by what the work waits for. Each lane is served separately, so that a slow
/// activity delays no commit and a slow store delays no cancellation.
enum class Lane : std::uint8_t {
  store,         ///< store calls, one at a time, in order
  activities,    ///< function activities, many at once
  cancellation,  ///< stop callbacks of activities
  /// Store calls without a waiting caller, one at a time, in order.
  background,
  leases,  ///< store calls that renew leases, one at a time, in order
};

/// The services a runtime needs from its environment.
class Env {
 public:
  virtual ~Env() = default;

  /// Time, and unpredictable random numbers.
  [[nodiscard]] virtual const Clock& clock() const = 0;
  [[nodiscard]] virtual std::uint64_t random() = 0;

  /// The loop that owns the runtime's state.
  [[nodiscard]] virtual Executor& loop() = 0;
  /// The loop that runs coroutine activities.
  [[nodiscard]] virtual Executor& activity_loop() = 0;
  /// The loop that decides when leases are renewed and when they are over. None of its jobs blocks: a lease
  /// ends on time although the store or the loop hangs.
  [[nodiscard]] virtual Executor& lease_loop() = 0;

  /// Runs `work` outside the loops.
  virtual void run_elsewhere(Lane lane, Job work) = 0;

  /// A thread of the lane `activities` or `cancellation` is blocked for a while: starts a replacement.
  /// Returns false if the system refuses a thread for now; the lane then continues with the threads it has.
  /// Any thread.
  virtual bool thread_lost(Lane /*lane*/) { return true; }
  /// The blocked thread returned, so the lane has one thread too many. Any thread.
  virtual void thread_found(Lane /*lane*/) {}
  /// Blocks the calling activity for `delay`. Returns false immediately if `stop` fires.
  virtual bool pause_activity(Duration delay, const std::stop_token& stop) = 0;

  /// True if the loop is idle at the moment; a hint that it may call the store itself.
  [[nodiscard]] virtual bool loop_is_idle() const = 0;
};

}  // namespace duramen::inline v0
