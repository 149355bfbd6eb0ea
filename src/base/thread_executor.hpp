// One thread with a queue and timers: the production Executor.
#pragma once

#include <duramen/env.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

namespace duramen::inline v0 {

/// A thread that runs `run`, with a name shown by debuggers and top. Throws std::system_error, with what to
/// do, if the system refuses it.
[[nodiscard]] std::thread start_thread(const std::string& name, Job run);

class ThreadExecutor final : public Executor {
 public:
  enum class Role : std::uint8_t {
    commits,     ///< a runtime's commits need the thread: no call may wait for the runtime there
    coroutines,  ///< all coroutine activities of a runtime need it: no call may wait for an instance there
    other,
  };

  /// `serves`: the store whose runtime it belongs to, if any.
  ThreadExecutor(const Clock& clock, const std::string& name, Role role = Role::other,
                 const void* serves = nullptr);
  ~ThreadExecutor() override { stop(); }

  void post(Job job) override;
  void post_first(Job job) override;
  void post_at(LeaseTime when, Job job) override;
  [[nodiscard]] bool idle() const noexcept { return waiting_.load(std::memory_order_relaxed) == 0; }

  /// The executor of the calling thread; null for any other thread.
  [[nodiscard]] static const ThreadExecutor* current() noexcept;
  /// True on a thread of an executor: it must not wait for another one, which may be waiting for it.
  [[nodiscard]] static bool is_this_thread() noexcept { return current() != nullptr; }
  [[nodiscard]] Role role() const noexcept { return role_; }
  [[nodiscard]] bool serves(const void* store) const noexcept { return serves_ == store; }

  /// Runs queued jobs, drops timers that are not due, and ends the thread. Later posts are dropped.
  void stop();

 private:
  struct Timer {
    LeaseTime when;
    std::uint64_t order;
    mutable Job job;
    friend bool operator<(const Timer& a, const Timer& b) {  // the earliest on top
      return a.when != b.when ? a.when > b.when : a.order > b.order;
    }
  };
  void post_to(std::vector<Job>& queue, Job job);
  void run();
  void run_urgent();
  void run_one(Job& job);

  const Clock& clock_;
  const Role role_;
  const void* const serves_;               // only compared
  std::atomic<std::size_t> waiting_{0};    // jobs not begun yet
  std::atomic<bool> urgent_waits_{false};  // a hint: written under mutex_

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Job> jobs_;  // guarded by mutex_
  // Guarded by mutex_; run before the other jobs, even in the middle of a batch.
  std::vector<Job> urgent_;
  std::priority_queue<Timer> timers_;  // guarded by mutex_
  std::uint64_t next_timer_ = 0;       // guarded by mutex_
  bool stopping_ = false;              // guarded by mutex_
  bool asleep_ = false;                // guarded by mutex_
  std::thread thread_;
};

}  // namespace duramen::inline v0
