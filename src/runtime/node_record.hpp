// The record of this node in the store, and the write level that the node reads there.
#pragma once

#include "runtime/log.hpp"
#include <duramen/provider.hpp>
#include <duramen/runtime.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace duramen::inline v0::runtime {

class NodeReporter {
 public:
  /// A node reports this often, at the latest: a missed report or two do not make it look dead.
  static constexpr Duration interval = node_live_within / 3;

  /// `provider` and `log` must outlive the reporter.
  NodeReporter(Provider& provider, const RuntimeOptions& options,
               std::vector<RegisteredOrchestration> orchestrations, std::vector<std::string> activities,
               const Log& log);

  /// Stores the record; then reads the write level, and raises it before if the options say so. Logs a
  /// warning if it is below or above what this node supports. If the store fails, report() does the same
  /// later. Any thread.
  void begin();
  /// True once the record is stored. A node must do no work before: a raise of the write level asks only the
  /// nodes that are listed. Any thread.
  [[nodiscard]] bool listed() const noexcept { return listed_.load(); }
  /// The engine version at which this node begins executions; until it could be read, the lowest, which every
  /// node supports. Any thread.
  [[nodiscard]] const std::atomic<std::uint32_t>& write_level() const noexcept { return write_level_; }

  /// True if the write level was read, and this node reads executions that begin at it. Any thread.
  [[nodiscard]] bool reads_write_level() const noexcept { return reads_write_level_.load(); }

  /// Stores the record, and reads the write level again; a raise that was refused is tried again. On the
  /// store's lane.
  void report(std::size_t running, std::size_t resident, std::size_t abandoned);
  /// Later reports do nothing, so that a shutdown does not wait for them. Any thread.
  void stop() noexcept { stopping_ = true; }
  /// Removes the record: later reports do nothing. On the store's lane.
  void remove();

 private:
  void follow_write_level();
  void raise();
  [[nodiscard]] bool write_record();
  /// False if the store did not answer.
  bool read_write_level(std::uint32_t& stored);

  // Fixed at construction.
  Provider& provider_;
  const bool raises_;
  const Log& log_;

  std::atomic<std::uint32_t> write_level_{1};
  std::atomic<bool> reads_write_level_ = false;
  std::atomic<bool> listed_ = false;
  std::atomic<bool> stopping_ = false;

  // Guarded by mutex_.
  std::mutex mutex_;
  NodeRecord record_;
  bool removed_ = false;
  bool raised_ = false;       // the write level, if that is wanted
  std::string held_back_by_;  // the nodes that were logged
  bool compared_ = false;     // the first level that was read, with this node's own
};

}  // namespace duramen::inline v0::runtime
