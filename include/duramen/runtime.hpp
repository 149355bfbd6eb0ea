// The runtime: runs orchestrations and activities on a store.
#pragma once

#include <duramen/ids.hpp>
#include <duramen/limits.hpp>
#include <duramen/log.hpp>
#include <duramen/metrics.hpp>
#include <duramen/provider.hpp>
#include <duramen/registry.hpp>
#include <duramen/store.hpp>
#include <duramen/time.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace duramen::inline v0 {

/// How a runtime works. The defaults suit most; a combination that cannot work is refused when the runtime
/// starts.
struct RuntimeOptions {
  /// Must be unique among all runtimes that share the store; made up if empty.
  NodeId node;

  // -- how much at once ---

  /// Threads for function activities. 0: one per core, at least four.
  std::size_t activity_threads = 0;
  /// Activities this node holds at once, coroutines included. What is beyond it waits for a free place or
  /// another node.
  std::size_t max_activities = 4096;
  /// Live coroutines kept between turns, so that a turn costs nothing for the history before it. 0: none, so
  /// that every turn replays the history before it. That is slow, and finds code that is not deterministic.
  std::size_t max_resident_instances = 10'000;
  /// Turns in one transaction at most.
  std::size_t max_commit_batch = 250;
  /// What one turn may schedule, start and set.
  std::size_t max_actions_per_turn = 10'000;
  /// The largest payload, in bytes, that orchestrations and activities of this node may hand over: inputs,
  /// results, heartbeat details; from 1 to payload_ceiling. A larger one fails its activity or orchestration
  /// with kind `limit`. Checked when a payload is made, never when it is read: nodes and clients of one store
  /// may differ, and lowering it harms nothing that is stored.
  std::size_t max_payload_bytes = default_payload_limit;

  // -- leases and intervals ---

  /// How long an activity belongs to this node without a sign of life. Renewed at a third of it.
  Duration activity_lease = std::chrono::seconds{30};
  Duration turn_lease = std::chrono::seconds{10};
  /// How often to look for work without being told. Push makes this a safety net.
  Duration poll_interval = std::chrono::seconds{2};
  /// How often to look, at least, for work of others whose time limits have passed. What this node knows of
  /// is looked for when it is due.
  Duration sweep_interval = std::chrono::seconds{30};

  // -- which work ---

  /// Which activities this node takes, by their tag.
  TagFilter tags;
  /// Sessions with activities in hand here at once; what is beyond it waits for a free one or another node.
  /// 0: none.
  std::size_t max_sessions = 10;
  /// Who owns this node's sessions. Give a name that survives a restart to get them back at once; else the
  /// node id.
  std::string session_owner;
  Duration session_lease = std::chrono::seconds{30};
  /// A session without activities for that long is given up.
  Duration session_idle = std::chrono::minutes{5};
  /// Executions begun under the replay rules of these versions.
  std::uint32_t min_engine_version = 0;
  std::uint32_t max_engine_version = engine_version;

  // -- when things go wrong ---

  /// A turn or an activity that was handed out so often without coming to an end fails with `poison`.
  std::uint32_t max_attempts = 10;
  /// A turn whose code is not registered here is offered again after this, doubled with each attempt.
  Duration unregistered_pause = std::chrono::seconds{1};
  Duration longest_unregistered_pause = std::chrono::seconds{60};
  /// How long an activity may take to return after it was asked to stop. It counts from when the stop token
  /// fired, and has passed at the latest when twice the time has since the decision. Then a coroutine that
  /// sleeps is destroyed, and anything else is abandoned: it gives its place back and is counted until it
  /// returns.
  Duration cancel_grace = std::chrono::seconds{10};
  /// With so many abandoned activities no new ones are taken.
  std::size_t max_abandoned = 64;
  /// A turn that takes longer is named in the log.
  Duration slow_turn = std::chrono::seconds{1};

  // -- what others see ---

  /// Default: warnings and errors to standard error.
  LogSink log;
  /// Null: nothing is counted.
  std::shared_ptr<Metrics> metrics;
  /// How often the store is counted for the gauges of `metrics`: queue depths, and instances that have not
  /// ended. Zero: never. Runtimes that share a Store count once for all of them; every process counts for
  /// itself. Nothing waits for a count: it has a thread of its own and reads at most 10,000 instances at a
  /// time.
  Duration gauge_interval = std::chrono::seconds{60};
};

/// Starts in the constructor, stops in the destructor. Several runtimes, in one process or many, may share a
/// store.
class Runtime {
 public:
  /// Throws std::invalid_argument for options that cannot work, and std::system_error if the system refuses a
  /// thread; then nothing is left behind. If the system refuses one later, the runtime logs a warning and
  /// goes on with those it has.
  Runtime(Store store, Registry registry, RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Who this runtime is among those that share the store.
  [[nodiscard]] const NodeId& node() const noexcept;

  /// Activities that were asked to stop, did not within the grace period, and still run. Any thread, also
  /// during a shutdown; 0 after it.
  [[nodiscard]] std::size_t abandoned_activities() const noexcept;

  /// Takes no new work, lets running activities end until `deadline` has passed, then asks them to stop and
  /// gives their leases back, so that they are run again; results that they return after that are dropped.
  /// Activities that have not begun by then are given back at once. Blocks until done; later calls do
  /// nothing. An activity function that does not return even then keeps its thread and this call waiting: a
  /// function cannot be ended from outside. A coroutine that waits in an awaitable of yours is waited for
  /// until its grace period is over (RuntimeOptions::cancel_grace). Then its lease is given back, and its
  /// frame stays until you resume it and it ends, also after the Runtime; the log counts and names these when
  /// the runtime ends.
  void shutdown(Duration deadline = std::chrono::seconds{5});

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace duramen::inline v0
