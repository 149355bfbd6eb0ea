#include "runtime/threaded_env.hpp"

#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <system_error>
#include <utility>

namespace duramen::inline v0::runtime {

// -- ThreadPool -----------------------------------------------------------------------------------

ThreadPool::ThreadPool(std::size_t threads, std::string name) : name_(std::move(name)) {
  try {
    std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < threads; ++i) start_one();
  } catch (...) {
    if (!detail::mutant("half_started_pool_is_not_stopped")) stop();
    throw;
  }
}

/// With mutex_ held. Throws if the system refuses the thread.
void ThreadPool::start_one() {
  const auto at = threads_.emplace(threads_.end());
  try {
    *at = start_thread(name_, [this, at] { run(at); });  // waits for mutex_ first
  } catch (...) {
    threads_.erase(at);
    throw;
  }
}

bool ThreadPool::try_to_start_one() {
  try {
    start_one();
    return true;
  } catch (const std::system_error&) {
    if (detail::mutant("refused_thread_ends_the_process")) throw;
    return false;
  }
}

bool ThreadPool::grow() {
  std::lock_guard lock(mutex_);
  if (stopping_) return true;
  if (too_many_ > 0) {
    --too_many_;
    return true;
  }
  if (try_to_start_one()) return true;
  ++missing_;
  return false;
}

void ThreadPool::shrink() {
  {
    std::lock_guard lock(mutex_);
    if (missing_ > 0) {
      --missing_;
      return;
    }
    ++too_many_;
  }
  wake_.notify_one();
}

std::size_t ThreadPool::unjoined() {
  std::lock_guard lock(mutex_);
  return threads_.size() + left_.size();
}

void ThreadPool::post(Job job) {
  bool wake = false;
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    jobs_.push_back(std::move(job));
    if (missing_ > 0 && asleep_ == 0 && try_to_start_one()) --missing_;
    wake = wants_waking();
  }
  if (wake) wake_.notify_one();
}

/// One thread is woken at a time. When it has begun, it wakes the next if there is more to do. Many short
/// jobs then keep one thread busy instead of waking all, and a long job delays no other.
bool ThreadPool::wants_waking() {
  if (jobs_.empty() || asleep_ == 0 || waking_) return false;
  waking_ = true;
  return true;
}

void ThreadPool::stop(Queued queued) {
  std::deque<Job> dropped;
  Threads all;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    if (queued == Queued::dropped) dropped.swap(jobs_);
    all.splice(all.end(), threads_);
    all.splice(all.end(), left_);
  }
  wake_.notify_all();
  for (std::thread& thread : all) thread.join();
}

/// A thread cannot join itself. It joins the threads that left before; the next one, or stop(), joins it.
void ThreadPool::leave(Threads::iterator self, std::unique_lock<std::mutex> lock) {
  Threads earlier;
  if (!detail::mutant("threads_that_leave_are_not_joined")) earlier.swap(left_);
  left_.splice(left_.end(), threads_, self);
  lock.unlock();
  for (std::thread& thread : earlier) thread.join();
}

void ThreadPool::run(Threads::iterator self) {
  while (true) {
    Job job;
    bool wake_another = false;
    {
      std::unique_lock lock(mutex_);
      while (!stopping_ && jobs_.empty() && too_many_ == 0) {
        ++asleep_;
        wake_.wait(lock);
        --asleep_;
        waking_ = false;
      }
      if (jobs_.empty()) {
        if (stopping_) return;
        --too_many_;
        return leave(self, std::move(lock));
      }
      job = std::move(jobs_.front());
      jobs_.pop_front();
      wake_another = wants_waking();
    }
    if (wake_another) wake_.notify_one();
    job();
  }
}

// -- ThreadedEnv ----------------------------------------------------------------------------------

std::size_t ThreadedEnv::default_threads() {
  return std::max<std::size_t>(4, std::thread::hardware_concurrency());
}

ThreadedEnv::ThreadedEnv(const Clock& clock, std::size_t activity_threads, const void* store)
    : clock_(clock),
      random_(std::random_device{}() ^ (static_cast<std::uint64_t>(std::random_device{}()) << 32u)),
      loop_(clock, "dm-loop", ThreadExecutor::Role::commits, store),
      activity_loop_(clock, "dm-coroutines", ThreadExecutor::Role::coroutines, store),
      lease_loop_(clock, "dm-leases"),
      store_(clock, "dm-store", ThreadExecutor::Role::commits, store),
      activities_(activity_threads > 0 ? activity_threads : default_threads(), "dm-activity"),
      cancellation_(2, "dm-cancel"),
      background_(1, "dm-background"),
      renewals_(1, "dm-renewals") {}

ThreadedEnv::~ThreadedEnv() { stop(); }

std::uint64_t ThreadedEnv::random() {
  std::lock_guard lock(random_mutex_);
  return random_();
}

bool ThreadedEnv::pause_activity(Duration delay, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait_for(lock, stop, delay, [] { return false; });
  return !stop.stop_requested();
}

void ThreadedEnv::run_elsewhere(Lane lane, Job work) {
  switch (lane) {
    case Lane::store:
      return store_.post(std::move(work));
    case Lane::activities:
      return activities_.post(std::move(work));
    case Lane::cancellation:
      return cancellation_.post(std::move(work));
    case Lane::background:
      return background_.post(std::move(work));
    case Lane::leases:
      return renewals_.post(std::move(work));
  }
}

void ThreadedEnv::stop() {
  // An abandoned activity may still wait for its stop token to fire, and its thread is joined next.
  cancellation_.stop(detail::mutant("stop_notices_are_dropped") ? ThreadPool::Queued::dropped
                                                                : ThreadPool::Queued::run);
  activities_.stop();
  activity_loop_.stop();
  lease_loop_.stop();
  renewals_.stop();
  background_.stop();
  store_.stop();
  loop_.stop();
}

}  // namespace duramen::inline v0::runtime
