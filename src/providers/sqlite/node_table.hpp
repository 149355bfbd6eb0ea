// The nodes that work on the store, and the write level.
#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include <duramen/provider.hpp>

#include <cstdint>
#include <vector>

namespace duramen::inline v0::sqlite::detail {

/// Stores the write level of a new store.
void begin_write_level(Connection& connection);

/// `seen` is lease time: a step of the wall clock makes no node dead or alive, and the nodes of an earlier
/// boot are gone.
class NodeTable {
 public:
  explicit NodeTable(Connection& connection);

  void write(const TransactionTime& time, const NodeRecord& record);
  void remove(const NodeId& node, const std::string& run);
  [[nodiscard]] std::vector<NodeRecord> list(const TransactionTime& time);

  [[nodiscard]] std::uint32_t write_level();
  [[nodiscard]] WriteLevelRaise raise(const TransactionTime& time, std::uint32_t level, Duration live_within);

 private:
  Statement forget_;
  Statement write_;
  Statement remove_;
  Statement list_;
  Statement behind_;
  Statement level_;
  Statement set_level_;
};

}  // namespace duramen::inline v0::sqlite::detail
