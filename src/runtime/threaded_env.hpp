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
  /// Starts a thread; shrink() ends one as soon as it is idle. False if the system refuses the thread: the
  /// pool tries again when a job finds no free thread, unless shrink() was called meanwhile.
  bool grow();
  void shrink();
  /// Threads that were started and not joined yet. The next thread that leaves joins the previous one.
  [[nodiscard]] std::size_t unjoined();
  enum class Queued : bool { dropped, run };
  /// Ends the threads after their current jobs, and after the queued jobs with Queued::run. Later posts are
  /// dropped.
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
  std::deque<Job> jobs_;    // guarded by mutex_
  std::size_t asleep_ = 0;  // guarded by mutex_
  // Guarded by mutex_: a thread was woken and has not begun yet.
  bool waking_ = false;
  std::size_t too_many_ = 0;  // guarded by mutex_
  std::size_t missing_ = 0;   // guarded by mutex_: refused by the system
  bool stopping_ = false;     // guarded by mutex_
  Threads threads_;           // guarded by mutex_
  Threads left_;              // guarded by mutex_: they only join earlier ones
  const std::string name_;
};

class ThreadedEnv final : public Env {
 public:
  /// `store`: the one whose runtime it is for. Clients of other stores may wait on its threads.
  ThreadedEnv(const Clock& clock, std::size_t activity_threads, const void* store = nullptr);
  ~ThreadedEnv() override;

  /// Threads for function activities: one per core, at least four.
  [[nodiscard]] static std::size_t default_threads();

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
  ThreadPool renewals_;
};

}  // namespace duramen::inline v0::runtime
