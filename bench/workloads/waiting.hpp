// Activities that wait for their stop request and report its time.
#pragma once

#include "bench/measure.hpp"
#include <duramen/client.hpp>
#include <duramen/registry.hpp>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

namespace bench {

/// Receives the events of the activities, on their threads.
class WaitingListener {
 public:
  virtual ~WaitingListener() = default;
  virtual void running(const std::string& instance) = 0;
  virtual void stopped(const std::string& instance, Instant when) = 0;
};

// Orchestrations of one such activity each.
inline constexpr const char* wait_in_coroutine = "WaitInCoroutine";
inline constexpr const char* wait_in_function = "WaitInFunction";

void add_waiting_orchestrations(duramen::Registry& registry);
/// `listener` must outlive the runtime.
void add_waiting_activities(duramen::Registry& registry, WaitingListener& listener);

/// Waits for events in this process, of one instance at a time.
class LocalWatch final : public WaitingListener {
 public:
  void running(const std::string& instance) override;
  void stopped(const std::string& instance, Instant when) override;

  // Throw after a long silence.
  void await_running(const std::string& instance);
  [[nodiscard]] Instant await_stopped(const std::string& instance);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string running_;                // guarded by mutex_
  std::string stopped_;                // guarded by mutex_
  std::optional<Instant> stopped_at_;  // guarded by mutex_
};

}  // namespace bench
