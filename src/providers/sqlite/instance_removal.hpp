// Removes families of instances, and executions that have ended.
#pragma once

#include "providers/common/notices.hpp"
#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/stolen_leases.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include <duramen/management.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace duramen::inline v0::sqlite::detail {

/// For use inside a write transaction. Lists name the rows to remove, so that a family of any size takes the
/// same few statements.
class InstanceRemoval {
 public:
  InstanceRemoval(Connection& connection, StolenLeases& stolen_leases);

  [[nodiscard]] DeleteResult remove(const TransactionTime& time, const InstanceId& root, DeleteMode mode,
                                    providers::Notices& notices);
  /// `options` set at least one limit.
  [[nodiscard]] PruneResult prune(const InstanceId& instance, const PruneOptions& options);

 private:
  struct Family;
  [[nodiscard]] Family family_of(std::uint64_t root);
  void steal_leases(const TransactionTime& time, const std::string& keys, providers::Notices& notices);

  StolenLeases& stolen_leases_;
  Statement root_;
  Statement family_;
  Statement past_executions_;
  Statement leases_;
  Statement erase_work_;
  Statement erase_messages_;
  Statement erase_received_;
  Statement erase_key_values_;
  Statement erase_history_;
  Statement erase_executions_;
  Statement erase_instances_;
  Statement prunable_;
  Statement prune_history_;
  Statement prune_executions_;
};

}  // namespace duramen::inline v0::sqlite::detail
