// A value that one thread sets and another waits for. Only a broken test reaches the time limit.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>

namespace duramen::test {

/// Shorter with a defect switched on: what never happens then must fail the test, and not hold it up.
inline const std::chrono::seconds forever{std::getenv("DURAMEN_MUTANT") != nullptr ? 20 : 60};

template <class T>
class Signal {
 public:
  void set(T value) {
    std::lock_guard lock(mutex_);
    if (!value_) value_ = std::move(value);
    set_.notify_all();
  }
  /// Absent at the time limit.
  [[nodiscard]] std::optional<T> wait() {
    std::unique_lock lock(mutex_);
    set_.wait_for(lock, forever, [this] { return value_.has_value(); });
    return value_;
  }
  [[nodiscard]] bool is_set() {
    std::lock_guard lock(mutex_);
    return value_.has_value();
  }

 private:
  std::mutex mutex_;
  std::condition_variable set_;
  std::optional<T> value_;
};

}  // namespace duramen::test
