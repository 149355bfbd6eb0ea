// The runtime: runs orchestrations and activities on a store.
#pragma once

#include <cstddef>
#include <memory>

#include <duramen/ids.hpp>
#include <duramen/log.hpp>
#include <duramen/registry.hpp>
#include <duramen/store.hpp>
#include <duramen/time.hpp>

namespace duramen::inline v0 {

struct RuntimeOptions {
  /// Must be unique among all runtimes that share the store; made up if empty.
  NodeId node;
  /// Threads for function activities. 0: one per core, at least four.
  std::size_t activity_threads = 0;
  /// Activities this node holds at once, coroutines included. What is beyond it waits for a free place or another node.
  std::size_t max_activities = 4096;
  /// Live coroutines kept between turns, so that a turn costs nothing for the history before it.
  std::size_t max_resident_instances = 10'000;
  /// How long an activity belongs to this node without a sign of life. Renewed at a third of it.
  Duration activity_lease = std::chrono::seconds{30};
  Duration turn_lease = std::chrono::seconds{10};
  /// How often to look for work without being told. Push makes this a safety net.
  Duration poll_interval = std::chrono::seconds{2};
  /// Turns in one transaction at most.
  std::size_t max_commit_batch = 250;
  /// Default: warnings and errors to standard error.
  LogSink log;
};

/// Starts in the constructor, stops in the destructor. Several runtimes, in one process or many, may share a store.
class Runtime {
 public:
  Runtime(Store store, Registry registry, RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] const NodeId& node() const noexcept;

  /// Takes no new work, lets running activities end until `deadline` has passed, then tells them to stop and gives their
  /// leases back. Blocks until done; later calls do nothing. An activity function that does not return even then keeps
  /// its thread and this call waiting: a function cannot be ended from outside.
  void shutdown(Duration deadline = std::chrono::seconds{5});

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace duramen::v0
