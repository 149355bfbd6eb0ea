// Keeps a number of instances in flight: each lane starts the next instance from the callback of its last
// one. There is no thread per instance, and none for the whole.
#pragma once

#include "bench/measure.hpp"
#include <duramen/client.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// The end of a run: the first of both limits. Without limits: stop().
struct Limit {
  std::optional<std::uint64_t> count;
  std::optional<double> seconds;
};

class InFlight {
 public:
  /// Instances are named `prefix`-0, `prefix`-1, ...
  InFlight(duramen::Client& client, std::string orchestration, std::string prefix, std::size_t width,
           std::string input = "world");
  ~InFlight();
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  void start(const Limit& limit);
  /// Starts no new instance; instances in flight go on.
  void stop();
  /// Returns when the last one has ended; throws if one has failed.
  void wait();

  // After wait().
  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] double seconds() const { return seconds_between(began_, ended_); }
  /// The time from start to end of each instance.
  [[nodiscard]] std::vector<double> latencies_ms() const;

 private:
  struct Lane {
    Instant began;
    std::vector<double> latencies_ms;
  };
  void begin(Lane& lane);
  void ended(Lane& lane, const duramen::Result<duramen::InstanceState>& state);
  void leave();

  duramen::Client& client_;
  const std::string orchestration_;
  const std::string prefix_;
  const std::string input_;
  std::vector<Lane> lanes_;  // each is used by one callback at a time
  Limit limit_;
  Instant began_;
  Instant ended_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> stopped_{false};

  std::mutex mutex_;
  std::condition_variable all_left_;
  std::size_t active_ = 0;  // guarded by mutex_
  std::string problem_;     // guarded by mutex_
};

}  // namespace bench
