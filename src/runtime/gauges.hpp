// Counts what the store holds, now and then, for the metrics.
//
// A count over all instances takes long where there are millions of them, and nothing waits for it. So it has
// a lane of its own, and the store is asked for a part at a time, with a pause in between: a store that keeps
// old rows for its readers can let go of them then. The size of a part follows the time that the last one
// took. The runtimes of a process that share a store count once for all.
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
  Gauges(Env& env, Provider& provider, detail::LocalHub& local_hub, Duration interval, const Log& log);
  ~Gauges();
  Gauges(const Gauges&) = delete;
  Gauges& operator=(const Gauges&) = delete;

  /// Counts now, and again every interval. What comes of it reaches every runtime here as
  /// LocalRuntime::counted.
  void start();
  /// Begins no further part, and leaves the next count to other runtimes. One part may still be under way.
  void stop();

 private:
  void count_depths();
  void count_part(Incarnation after);
  void take_part(const Result<InstanceCount>& part);
  void finish();

  // Fixed at construction.
  Env& env_;
  Provider& provider_;
  detail::LocalHub& neighbourhood_;
  const Duration interval_;
  const Log& log_;

  bool stopped_ = false;
  bool counting_ = false;
  std::size_t part_size_ = 1000;  // instances; stays from one count to the next
  detail::StoreGauges gauges_;    // of the count that is under way
  std::uint64_t open_ = 0;        // its instances so far
};

}  // namespace duramen::inline v0::runtime
