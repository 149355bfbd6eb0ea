// Counts the instances and messages in the store at intervals, for the metrics.
//
// A count over millions of instances takes long, and nothing waits for it. So it has its own lane, and the
// store counts one part at a time with a pause between parts: a store that keeps old rows for its readers can
// drop them in the pause. The size of a part follows the time that the last one took. The runtimes of a
// process that share a store count once for all.
#pragma once

#include "runtime/log.hpp"
#include "store/local_hub.hpp"
#include <duramen/env.hpp>
#include <duramen/provider.hpp>

#include <cstddef>
#include <cstdint>

namespace duramen::inline v0::runtime {

/// On the loop.
class Gauges {
 public:
  Gauges(Env& env, Provider& provider, detail::LocalHub& hub, Duration interval, const Log& log);
  ~Gauges();
  Gauges(const Gauges&) = delete;
  Gauges& operator=(const Gauges&) = delete;

  /// Counts now, and again every interval. Every runtime of this process that shares the store receives the
  /// result as LocalRuntime::counted.
  void start();
  /// Begins no further part, and leaves the next count to other runtimes. One part may still be under way.
  void stop();

 private:
  void take_depths(const Result<QueueDepths>& depths);
  void count_part(Incarnation after);
  void take_part(const Result<InstanceCount>& part, Duration took);
  void finish();
  // On the background lane.
  void call_get_queue_depths();
  void call_count_instances(Incarnation after, std::size_t size);

  // Fixed at construction.
  Env& env_;
  Provider& provider_;
  detail::LocalHub& hub_;
  const Duration interval_;
  const Log& log_;

  bool stopped_ = false;
  bool counting_ = false;
  std::size_t part_size_ = 1000;  // instances; kept from one count to the next
  detail::StoreGauges gauges_;    // of the count under way
  std::uint64_t open_ = 0;        // its instances so far
};

}  // namespace duramen::inline v0::runtime
