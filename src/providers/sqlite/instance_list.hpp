// Finds instances: pages of a list, executions, families.
#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/statement.hpp"
#include <duramen/management.hpp>

#include <vector>

namespace duramen::inline v0::sqlite::detail {

/// Only reads. One statement makes each answer, so that it shows one state of the file.
class InstanceList {
 public:
  explicit InstanceList(Connection& connection);

  [[nodiscard]] InstancePage page(const InstanceQuery& query);
  [[nodiscard]] std::vector<ExecutionInfo> executions(const InstanceId& id);
  [[nodiscard]] std::vector<InstanceInfo> tree(const InstanceId& root);

 private:
  Connection& connection_;
  Statement executions_;
  Statement tree_;
};

}  // namespace duramen::inline v0::sqlite::detail
