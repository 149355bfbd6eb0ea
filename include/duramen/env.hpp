// The world as the runtime sees it: time, randomness and somewhere to run things.
//
// The runtime keeps all its state on one loop and reaches the world only through an Env. In production an Env
// is threads and clocks; in tests it is one queue and a virtual clock, and the same runtime code runs under
// both.
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
  /// The same, but before all that is queued and not posted like this: somebody waits for it.
  virtual void post_first(Job job) = 0;
  /// Runs `job` once `when` has come.
  virtual void post_at(LeaseTime when, Job job) = 0;
};

/// Work that may block, by what it waits for. Each lane is served on its own, so that a slow activity delays
/// no commit and a slow store delays no cancellation.
enum class Lane : std::uint8_t {
  store,         ///< store calls, one at a time, in order
  activities,    ///< function activities, many at once
  cancellation,  ///< stop callbacks of activities
  background,    ///< store calls whose answer nothing waits for, one at a time, in order
};

/// What a runtime needs from the world.
class Env {
 public:
  virtual ~Env() = default;

  /// Time, and numbers nobody can guess.
  [[nodiscard]] virtual const Clock& clock() const = 0;
  [[nodiscard]] virtual std::uint64_t random() = 0;

  /// Where the runtime's state lives.
  [[nodiscard]] virtual Executor& loop() = 0;
  /// Where coroutine activities run.
  [[nodiscard]] virtual Executor& activity_loop() = 0;
  /// Where leases are kept alive: never busy with anything else.
  [[nodiscard]] virtual Executor& lease_loop() = 0;

  /// Runs `work` away from the loops.
  virtual void run_elsewhere(Lane lane, Job work) = 0;

  /// A thread of the lane `activities` or `cancellation` will not come back for a while: another takes its
  /// place. False if the system refuses another one for now: the lane goes on with those it has. Any thread.
  virtual bool thread_lost(Lane /*lane*/) { return true; }
  /// It did come back, so one thread is too many. Any thread.
  virtual void thread_found(Lane /*lane*/) {}
  /// Blocks the calling activity for that long. False, and at once, if `stop` fires.
  virtual bool pause_activity(Duration delay, const std::stop_token& stop) = 0;

  /// True if the loop has nothing else to do right now; a hint that it may as well call the store itself.
  [[nodiscard]] virtual bool loop_is_idle() const = 0;
};

}  // namespace duramen::inline v0
