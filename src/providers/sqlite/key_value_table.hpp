// The table of key-values: the current values of an instance, and the values that earlier executions left.
#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/statement.hpp"
#include <duramen/ids.hpp>
#include <duramen/key_values.hpp>
#include <duramen/payload.hpp>

#include <string_view>

namespace duramen::inline v0::sqlite::detail {

/// Reads rows of (key, value, encoding, updated_at) to the end.
[[nodiscard]] KeyValues read_key_values(Cursor run);

/// Every row has a current value, a settled value, or both. `instances.has_key_values` marks the instances
/// with rows, so that the others cost no query.
class KeyValueTable {
 public:
  explicit KeyValueTable(Connection& connection);

  void apply(Incarnation instance, const KeyValueChange& change);
  /// The execution has ended: the next one begins with the current values.
  void settle(Incarnation instance);
  [[nodiscard]] KeyValues settled(Incarnation instance);
  void erase(Incarnation instance);

 private:
  Statement set_;
  Statement forget_;
  Statement clear_;
  Statement forget_all_;
  Statement clear_all_;
  Statement drop_cleared_;
  Statement settle_;
  Statement settled_;
  Statement erase_;
};

}  // namespace duramen::inline v0::sqlite::detail
