// The table of key-values: what an instance's store holds now, and what earlier executions left in it.
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

/// Every row has a current value, a settled one, or both. Its users note in `instances` who has rows, so that
/// nobody looks here in vain.
class KeyValueTable {
 public:
  explicit KeyValueTable(Connection& connection);

  void apply(Incarnation instance, const KeyValueChange& change);
  /// The execution has ended: what is current is what the next one begins with.
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
