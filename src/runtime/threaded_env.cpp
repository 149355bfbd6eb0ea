#include "runtime/threaded_env.hpp"

#include <algorithm>
#include <utility>

namespace duramen::inline v0::runtime {

// -- ThreadPool -----------------------------------------------------------------------------------

ThreadPool::ThreadPool(std::size_t threads, std::string name) : name_(std::move(name)) {
  for (std::size_t i = 0; i < threads; ++i) grow();
}

void ThreadPool::grow() {
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  if (too_many_ > 0) {
    --too_many_;
    return;
  }
  threads_.emplace_back([this] { run(); });
  name_thread(threads_.back(), name_);
}

void ThreadPool::shrink() {
  {
    std::lock_guard lock(mutex_);
    ++too_many_;
  }
  wake_.notify_one();
}

void ThreadPool::post(Job job) {
  bool wake = false;
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    jobs_.push_back(std::move(job));
    wake = wants_waking();
  }
  if (wake) wake_.notify_one();
}

/// One thread is woken at a time; when it has begun it wakes the next if there is more to do. Many short jobs
/// then keep one thread busy instead of waking them all, and a long one holds up nobody.
bool ThreadPool::wants_waking() {
  if (jobs_.empty() || asleep_ == 0 || waking_) return false;
  waking_ = true;
  return true;
}

void ThreadPool::stop() {
  std::deque<Job> dropped;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(jobs_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void ThreadPool::run() {
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
        if (!stopping_) --too_many_;
        return;
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

namespace {
std::size_t default_threads() { return std::max<std::size_t>(4, std::thread::hardware_concurrency()); }
}  // namespace

ThreadedEnv::ThreadedEnv(const Clock& clock, std::size_t activity_threads)
    : clock_(clock),
      random_(std::random_device{}() ^ (static_cast<std::uint64_t>(std::random_device{}()) << 32u)),
      loop_(clock, "dm-loop"),
      activity_loop_(clock, "dm-coroutines"),
      lease_loop_(clock, "dm-leases"),
      store_(clock, "dm-store"),
      activities_(activity_threads > 0 ? activity_threads : default_threads(), "dm-activity"),
      cancellation_(2, "dm-cancel"),
      background_(1, "dm-background") {}

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
  }
}

void ThreadedEnv::stop() {
  cancellation_.stop();
  activities_.stop();
  activity_loop_.stop();
  lease_loop_.stop();
  background_.stop();
  store_.stop();
  loop_.stop();
}

}  // namespace duramen::inline v0::runtime
