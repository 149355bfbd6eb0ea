#include "providers/sqlite/cancel_descent.hpp"

#include <duramen/detail/mutant.hpp>

#include <string>
#include <utility>

namespace duramen::inline v0::sqlite::detail {

CancelDescent::CancelDescent(Connection& connection, Delivery& delivery)
    : delivery_(delivery),
      children_(connection, "SELECT " + std::string(row_columns) +
                                ", i.instance_id, i.parent_instance, i.parent_execution, i.parent_event "
                                "FROM duramen_instances i INDEXED BY duramen_instances_by_parent "
                                "WHERE i.parent_key = ?1 ORDER BY i.key DESC LIMIT ?2") {}

void CancelDescent::run(const TransactionTime& time, providers::Notices& notices) {
  if (duramen::detail::mutant("cancels_descend_by_turns_only")) return;
  std::size_t left = providers::max_cancel_descent;
  while (!notices.descending.empty()) {
    // The cancels that are stored now are the next level.
    const auto level = std::exchange(notices.descending, {});
    for (const auto& [parent, cancel] : level) {
      if (left == 0) return;
      for (Child& child : children(parent, left)) {
        --left;
        if (is_final(child.row.status) || child.row.cancel_asked >= cancel.mode) continue;
        delivery_.store_cancel(time, child.row, child.id,
                               providers::cancel_of_child(cancel, std::move(child.link)), notices);
      }
    }
  }
}

std::vector<CancelDescent::Child> CancelDescent::children(Incarnation parent, std::size_t limit) {
  std::vector<Child> found;
  Cursor run = children_.run(parent.value, limit);
  while (run.step()) {
    const int c = row_column_count;
    found.push_back({.row = read_row(run),
                     .id = InstanceId{run.text(c)},
                     .link = {InstanceId{run.text(c + 1)}, parent, ExecutionId{run.number(c + 2)},
                              EventId{run.number(c + 3)}}});
  }
  return found;
}

}  // namespace duramen::inline v0::sqlite::detail
