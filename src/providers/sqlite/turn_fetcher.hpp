// Leases instances that have something to take to a node.
//
// A fetch reads the entries of the capabilities that its node has, and the timers that are due, longest
// waiting first over all of them. It skips along the index of entries from one capability that it wants to
// the next that exists, so entries that it does not want cost it nothing.
#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/instances.hpp"
#include "providers/sqlite/key_value_table.hpp"
#include "providers/sqlite/number_allocator.hpp"
#include "providers/sqlite/orchestrator_queue.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include "providers/sqlite/wanted_capabilities.hpp"
#include <duramen/provider.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace duramen::inline v0::sqlite::detail {

class TurnFetcher {
 public:
  TurnFetcher(Connection& connection, NumberAllocator& numbers, Instances& instances,
              OrchestratorQueue& queue, KeyValueTable& key_values);

  /// True if a fetch may find something; sets `next_due` if not. Only reads.
  [[nodiscard]] bool any_ready(const TransactionTime& time, const TurnFetch& request,
                               std::optional<TimePoint>& next_due);
  /// Leases instances and counts an attempt for each.
  [[nodiscard]] TurnBatch fetch(const TransactionTime& time, const TurnFetch& request,
                                const std::function<LeaseToken()>& new_token);

  /// Messages found that this build cannot read.
  [[nodiscard]] std::uint64_t unreadable() const noexcept { return unreadable_; }

 private:
  struct Found;
  class Source;
  struct Search;

  /// Calls `visit(capability, ready_at of its first entry)` for each wanted capability that has entries,
  /// until it returns false.
  template <class Visit>
  void each_capability(Visit visit);
  void open_sources(Search& search);
  [[nodiscard]] Source* longest_waiting(Search& search);
  /// Returns false if the batch is complete.
  [[nodiscard]] bool consider(Search& search, const Source& source);
  /// A timer or a delayed start that is due. True if its instance may be taken by it.
  [[nodiscard]] bool notice(Search& search, const InstanceRow& row, const Found& found);
  [[nodiscard]] bool load(Search& search, const InstanceRow& row, LeasedInstance& item);
  void store(Search& search, const std::function<LeaseToken()>& new_token);
  [[nodiscard]] std::optional<std::int64_t> next_timer(const TransactionTime& time);

  NumberAllocator& numbers_;
  Instances& instances_;
  OrchestratorQueue& queue_;
  KeyValueTable& key_values_;
  Connection& connection_;
  WantedCapabilities wanted_;
  std::atomic<std::uint64_t> unreadable_ = 0;

  Statement next_capability_;
  Statement first_due_;
  Statement next_due_;
  Statement due_;
  std::vector<std::unique_ptr<Statement>> entries_;  // one per capability that is read at once
  Statement instance_;
  Statement has_message_;
  Statement timers_;
  Statement messages_;
  Statement move_entry_;
  Statement make_entry_;
  Statement notice_;
  Statement forget_entry_;
};

}  // namespace duramen::inline v0::sqlite::detail
