#include "providers/sqlite/key_value_table.hpp"

#include "providers/sqlite/values.hpp"

namespace duramen::inline v0::sqlite::detail {

KeyValues read_key_values(Cursor run) {
  KeyValues values;
  while (run.step()) {
    values.emplace(run.text(0),
                   KeyValueEntry{Payload{run.string(1), parse_encoding(run.text(2)).value_or(Encoding::text)},
                                 from_unix_ms(run.integer(3))});
  }
  return values;
}

KeyValueTable::KeyValueTable(Connection& connection)
    : set_(connection,
           "INSERT INTO duramen_key_values (instance_key, key, value, encoding, updated_at) VALUES (?, ?, ?, "
           "?, ?) "
           "ON CONFLICT (instance_key, key) DO UPDATE SET value = excluded.value, "
           "encoding = excluded.encoding, updated_at = excluded.updated_at"),
      // The row of a key that no earlier execution set is deleted; any other row stays until this execution
      // ends.
      forget_(connection,
              "DELETE FROM duramen_key_values WHERE instance_key = ? AND key = ? AND settled_value IS NULL"),
      clear_(connection,
             "UPDATE duramen_key_values SET value = NULL, encoding = NULL, updated_at = NULL "
             "WHERE instance_key = ? AND key = ? AND value IS NOT NULL"),
      forget_all_(connection,
                  "DELETE FROM duramen_key_values WHERE instance_key = ? AND settled_value IS NULL"),
      clear_all_(connection,
                 "UPDATE duramen_key_values SET value = NULL, encoding = NULL, updated_at = NULL "
                 "WHERE instance_key = ? AND value IS NOT NULL"),
      drop_cleared_(connection, "DELETE FROM duramen_key_values WHERE instance_key = ? AND value IS NULL"),
      settle_(connection,
              "UPDATE duramen_key_values SET settled_value = value, settled_encoding = encoding, "
              "settled_updated_at = updated_at WHERE instance_key = ? AND (settled_value IS NOT value OR "
              "settled_encoding IS NOT encoding OR settled_updated_at IS NOT updated_at)"),
      settled_(connection,
               "SELECT key, settled_value, settled_encoding, settled_updated_at FROM duramen_key_values "
               "WHERE instance_key = ? AND settled_value IS NOT NULL"),
      erase_(connection, "DELETE FROM duramen_key_values WHERE instance_key = ?") {}

void KeyValueTable::apply(Incarnation instance, const KeyValueChange& change) {
  if (!change.key) {
    forget_all_.execute(instance.value);
    clear_all_.execute(instance.value);
  } else if (change.value) {
    set_.execute(instance.value, *change.key, change.value->data, to_string(change.value->encoding),
                 to_unix_ms(change.updated_at));
  } else if (forget_.execute(instance.value, *change.key) == 0) {
    clear_.execute(instance.value, *change.key);
  }
}

void KeyValueTable::settle(Incarnation instance) {
  drop_cleared_.execute(instance.value);
  settle_.execute(instance.value);
}

KeyValues KeyValueTable::settled(Incarnation instance) {
  return read_key_values(settled_.run(instance.value));
}

void KeyValueTable::erase(Incarnation instance) { erase_.execute(instance.value); }

}  // namespace duramen::inline v0::sqlite::detail
