#include "base/thread_executor.hpp"

#include "base/longest_wait.hpp"

#include <algorithm>
#include <pthread.h>
#include <system_error>
#include <utility>

namespace duramen::inline v0 {

namespace {
thread_local const ThreadExecutor* this_threads = nullptr;
}  // namespace

const ThreadExecutor* ThreadExecutor::current() noexcept { return this_threads; }

std::thread start_thread(const std::string& name, Job run) {
  try {
    std::thread thread(std::move(run));
    pthread_setname_np(thread.native_handle(), name.substr(0, 15).c_str());
    return thread;
  } catch (const std::system_error& error) {
    throw std::system_error(error.code(), "the system refuses the thread " + name +
                                              "; raise the process's limit of threads or memory, or lower "
                                              "RuntimeOptions::activity_threads");
  }
}

ThreadExecutor::ThreadExecutor(const Clock& clock, const std::string& name, Role role, const void* serves)
    : clock_(clock), role_(role), serves_(serves), thread_(start_thread(name, [this] { run(); })) {}

void ThreadExecutor::post(Job job) { post_to(jobs_, std::move(job)); }

void ThreadExecutor::post_first(Job job) { post_to(urgent_, std::move(job)); }

void ThreadExecutor::post_to(std::vector<Job>& queue, Job job) {
  bool wake = false;
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    queue.push_back(std::move(job));
    waiting_.fetch_add(1, std::memory_order_relaxed);
    urgent_waits_.store(!urgent_.empty(), std::memory_order_relaxed);
    wake = std::exchange(asleep_, false);
  }
  if (wake) wake_.notify_one();
}

void ThreadExecutor::post_at(LeaseTime when, Job job) {
  bool wake = false;
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    timers_.push(Timer{when, next_timer_++, std::move(job)});
    wake = std::exchange(asleep_, false);
  }
  if (wake) wake_.notify_one();
}

void ThreadExecutor::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    asleep_ = false;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void ThreadExecutor::run() {
  this_threads = this;
  std::vector<Job> batch;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      while (jobs_.empty() && urgent_.empty() && !stopping_) {
        if (timers_.empty()) {
          asleep_ = true;
          wake_.wait(lock, [this] { return !asleep_; });
        } else {
          const Duration left = timers_.top().when - clock_.lease_now();
          if (left <= Duration::zero()) break;
          asleep_ = true;
          // A clock that a test moves does not wake this thread.
          const Duration longest =
              clock_.moves_by_itself() ? base::no_longer(left) : std::min(left, Duration{1});
          wake_.wait_for(lock, longest, [this] { return !asleep_; });
          asleep_ = false;
        }
      }
      while (!timers_.empty() && timers_.top().when <= clock_.lease_now()) {
        jobs_.push_back(std::move(timers_.top().job));
        timers_.pop();
        waiting_.fetch_add(1, std::memory_order_relaxed);
      }
      if (jobs_.empty() && urgent_.empty() && stopping_) return;
      batch.swap(jobs_);
    }
    for (Job& job : batch) {
      run_urgent();
      run_one(job);
    }
    batch.clear();
    run_urgent();
  }
}

void ThreadExecutor::run_urgent() {
  while (urgent_waits_.load(std::memory_order_relaxed)) {
    std::vector<Job> urgent;
    {
      std::lock_guard lock(mutex_);
      urgent.swap(urgent_);
      urgent_waits_.store(false, std::memory_order_relaxed);
    }
    for (Job& job : urgent) run_one(job);
  }
}

void ThreadExecutor::run_one(Job& job) {
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  job();
  job = {};
}

}  // namespace duramen::inline v0
