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

/// Options of a runtime. The defaults suit most programs; a combination that cannot work is refused when the
/// runtime starts.
struct RuntimeOptions {
  /// Must be unique among all runtimes that share the store; generated if empty. UTF-8 without NUL, at most
  /// max_node_bytes.
  NodeId node;

  // -- capacity ---

  /// Threads for function activities. 0: one per core, at least four.
  std::size_t activity_threads = 0;
  /// Maximum number of activities this node holds, including coroutines. Further activities wait for a free
  /// place or another node. Of functions it holds only as many as it has threads, and a few that begin soon.
  std::size_t max_activities = 4096;
  /// Maximum number of coroutines kept in memory between turns, so that a turn need not replay the history
  /// before it. 0: none, so that every turn replays the history. That is slow, and finds code that is not
  /// deterministic.
  std::size_t max_resident_instances = 10'000;
  /// Maximum number of turns in one transaction.
  std::size_t max_commit_batch = 250;
  /// Maximum number of actions that an orchestration takes before it waits: operations scheduled or started,
  /// values set; at least 1. A wait for an event or a message that has arrived already does not count.
  std::size_t max_actions_per_turn = 10'000;
  /// The largest payload, in bytes, that orchestrations and activities of this node may produce: inputs,
  /// results, heartbeat details; from 1 to payload_ceiling. A call of an orchestration with a larger input
  /// throws LimitError; a larger result fails its activity or orchestration with kind `limit`. Checked when a
  /// payload is created, never when it is read: nodes and clients of one store may differ, and a lower limit
  /// leaves stored data valid. An execution keeps the value of the node on which it began, as for max_depth.
  std::size_t max_payload_bytes = default_payload_limit;
  /// Maximum number of ancestors of an instance. A call of a child beyond it throws LimitError. An execution
  /// keeps the value of the node on which it began, so a change counts for executions that begin later.
  std::uint32_t max_depth = default_max_depth;

  // -- leases and intervals ---

  /// The time this node keeps an activity without renewing its lease. Renewed after a third of it.
  Duration activity_lease = std::chrono::seconds{30};
  /// The time this node keeps an instance without renewing its lease. Renewed after a third of it, from the
  /// fetch until the turn is stored, even while the store is slow or other turns block the loop.
  Duration turn_lease = std::chrono::seconds{10};
  /// A turn that runs for longer loses its lease, so that another node may run it; the node then also
  /// releases the instances whose turns wait for it. After max_attempts such turns the instance fails with
  /// `poison`.
  Duration max_turn_time = std::chrono::seconds{60};
  /// The interval of polls for work. Notifications arrive earlier; polling is the fallback.
  Duration poll_interval = std::chrono::seconds{2};
  /// The longest interval between sweeps for overdue work of other nodes. Overdue work that this node knows
  /// of is swept when it is due.
  Duration sweep_interval = std::chrono::seconds{30};

  // -- selection of work ---

  /// Selects the activities of this node, by tag.
  TagFilter tags;
  /// Maximum number of sessions with activities on this node; further sessions wait for a free place or
  /// another node. 0: none.
  std::size_t max_sessions = 10;
  /// The owner of this node's sessions. Set a name that survives a restart to regain them immediately;
  /// default: the node id.
  std::string session_owner;
  Duration session_lease = std::chrono::seconds{30};
  /// A session without activities for this long is released.
  Duration session_idle = std::chrono::minutes{5};
  /// The range of replay rule versions that this node supports; max_engine_version from 1 to engine_version.
  /// A node begins no execution in the call that starts an instance while the store's write level is outside
  /// of this range: the start waits in the queue.
  std::uint32_t min_engine_version = 0;
  std::uint32_t max_engine_version = engine_version;
  /// Raises the store's write level to the newest that this node supports when it starts, like `duramen
  /// upgrade --finish`. For a program that is alone with its store and is never rolled back: an older build
  /// cannot continue what it begins. Refused, with a warning, while another node reads less, and tried again
  /// with each report of the node, every 30 s.
  bool raise_write_level = false;

  // -- failures ---

  /// A turn or an activity handed out this many times without finishing fails with `poison`. A turn whose
  /// lease this node lost before the turn was stored does not count, unless it ran for over max_turn_time.
  std::uint32_t max_attempts = 10;
  /// The delay before a turn whose code is not registered here is offered again; doubled with each attempt.
  Duration unregistered_pause = std::chrono::seconds{1};
  Duration longest_unregistered_pause = std::chrono::seconds{60};
  /// The time an activity may take to return after it was asked to stop. It starts when the stop token fires,
  /// and ends at the latest when twice this time has passed since the decision. Then a coroutine that sleeps
  /// is destroyed, and any other activity is abandoned: it releases its place and is counted until it
  /// returns.
  Duration cancel_grace = std::chrono::seconds{10};
  /// With this many abandoned activities the node takes no new ones.
  std::size_t max_abandoned = 64;
  /// The log names a turn that takes longer.
  Duration slow_turn = std::chrono::seconds{1};

  // -- observability ---

  /// Default: warnings and errors to standard error.
  LogSink log;
  /// Null: no metrics.
  std::shared_ptr<Metrics> metrics;
  /// The interval at which the store is counted for the gauges of `metrics`: queue depths, and instances that
  /// have not ended. Zero: never. Runtimes that share a Store share one count; every process counts for
  /// itself. Nothing waits for a count: it has its own thread and reads at most 10,000 instances at a time.
  Duration gauge_interval = std::chrono::seconds{60};
};

/// Starts in the constructor, stops in the destructor. Several runtimes, in one process or many, may share a
/// store.
class Runtime {
 public:
  /// Throws std::invalid_argument for options that cannot work, and std::system_error if the system refuses a
  /// thread; then nothing is left behind. If the system refuses a thread later, the runtime logs a warning
  /// and continues with the threads it has.
  Runtime(Store store, Registry registry, RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// The id of this runtime among all that share the store.
  [[nodiscard]] const NodeId& node() const noexcept;

  /// Activities that were asked to stop, did not return within the grace period, and still run. Any thread,
  /// even during a shutdown; 0 after it.
  [[nodiscard]] std::size_t abandoned_activities() const noexcept;

  /// Takes no new work and lets running activities finish until `deadline` has passed. Then it asks them to
  /// stop and releases their leases, so that they run again; results they return after that are discarded.
  /// Activities that have not started by then are released immediately. Blocks until done; later calls do
  /// nothing. An activity function that still does not return keeps its thread and this call waiting: a
  /// function cannot be ended from outside. A coroutine that waits in an awaitable of yours is waited for
  /// until its grace period ends (RuntimeOptions::cancel_grace). Its lease is released when nothing else is
  /// left to wait for; from then on another attempt may run at the same time, with a higher
  /// ActivityContext::fencing_token(). Its frame stays until you resume it and it finishes, even after the
  /// Runtime; the log counts and names these when the runtime ends.
  void shutdown(Duration deadline = std::chrono::seconds{5});

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace duramen::inline v0
