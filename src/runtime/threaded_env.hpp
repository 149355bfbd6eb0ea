// The production Env: real threads, real clocks.
#pragma once

#include "base/thread_executor.hpp"
#include <duramen/env.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <random>
#include <string>
#include <thread>

namespace duramen::inline v0::runtime {

/// Several threads, one queue.
class ThreadPool {
 public:
  ThreadPool(std::size_t threads, std::string name);
  ~ThreadPool() { stop(); }
  void post(Job job);
  /// One thread more, or one less as soon as one has nothing to do. False if the system refuses it; the pool
  /// then asks again when there is work that no thread is free for, unless shrink() was called meanwhile.
  bool grow();
  void shrink();
  /// Threads that were started and not joined yet. One that leaves is joined by the next that does.
  [[nodiscard]] std::size_t unjoined();
  enum class Queued : bool { dropped, run };
  /// Ends the threads when they have done what has begun, and what is queued if it is to be run. Later posts
  /// are dropped.
  void stop(Queued queued = Queued::dropped);

 private:
  using Threads = std::list<std::thread>;
  void start_one();
  [[nodiscard]] bool try_to_start_one();
  void run(Threads::iterator self);
  void leave(Threads::iterator self, std::unique_lock<std::mutex> lock);
  [[nodiscard]] bool wants_waking();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;      // guarded by mutex_
  std::size_t asleep_ = 0;    // guarded by mutex_
  bool waking_ = false;       // guarded by mutex_: one that sleeps has been woken and has not begun yet
  std::size_t too_many_ = 0;  // guarded by mutex_
  std::size_t missing_ = 0;   // guarded by mutex_: refused by the system
  bool stopping_ = false;     // guarded by mutex_
  Threads threads_;           // guarded by mutex_
  Threads left_;              // guarded by mutex_: they do nothing more with the pool but join earlier ones
  const std::string name_;
};

class ThreadedEnv final : public Env {
 public:
  /// `store`: the one whose runtime it is for. Clients of other stores may wait on its threads.
  ThreadedEnv(const Clock& clock, std::size_t activity_threads, const void* store = nullptr);
  ~ThreadedEnv() override;

  [[nodiscard]] const Clock& clock() const override { return clock_; }
  [[nodiscard]] std::uint64_t random() override;
  [[nodiscard]] Executor& loop() override { return loop_; }
  [[nodiscard]] Executor& activity_loop() override { return activity_loop_; }
  [[nodiscard]] Executor& lease_loop() override { return lease_loop_; }
  void run_elsewhere(Lane lane, Job work) override;
  bool thread_lost(Lane lane) override { return lane == Lane::store || pool(lane).grow(); }
  void thread_found(Lane lane) override {
    if (lane != Lane::store) pool(lane).shrink();
  }
  bool pause_activity(Duration delay, const std::stop_token& stop) override;
  [[nodiscard]] bool loop_is_idle() const override { return loop_.idle(); }

  /// Ends all threads, users' code first. After this nothing runs and nothing is accepted.
  void stop();

 private:
  [[nodiscard]] ThreadPool& pool(Lane lane) { return lane == Lane::activities ? activities_ : cancellation_; }

  const Clock& clock_;
  std::mutex random_mutex_;
  std::mt19937_64 random_;  // guarded by random_mutex_

  ThreadExecutor loop_;
  ThreadExecutor activity_loop_;
  ThreadExecutor lease_loop_;
  ThreadExecutor store_;
  ThreadPool activities_;
  ThreadPool cancellation_;
  ThreadPool background_;
};

}  // namespace duramen::inline v0::runtime
