// Counts reports of callbacks on other threads, for one thread that waits for a number of them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>

namespace bench {

class Tally {
 public:
  void one() { add({}); }
  void problem(const std::string& what) { add(what); }
  /// Returns at that count; throws if one report was a problem.
  void wait_for(std::uint64_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= count; });
    if (!problem_.empty()) throw std::runtime_error(problem_);
  }

 private:
  void add(const std::string& problem) {
    // Notified under the lock: the waiter may destroy this object next.
    const std::lock_guard lock(mutex_);
    ++count_;
    if (!problem.empty()) problem_ = problem;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t count_ = 0;  // guarded by mutex_
  std::string problem_;      // guarded by mutex_
};

}  // namespace bench
