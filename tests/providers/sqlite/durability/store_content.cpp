#include "providers/sqlite/durability/store_content.hpp"

#include <sqlite3.h>

#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

namespace duramen::sqlite::test {

namespace {

using Row = std::vector<std::string>;

class Reader {
 public:
  explicit Reader(const std::string& path) {
    if (sqlite3_open(path.c_str(), &connection_) != SQLITE_OK) fail("open");
    sqlite3_busy_timeout(connection_, 10'000);
  }
  ~Reader() { sqlite3_close(connection_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  [[nodiscard]] std::vector<Row> rows(const std::string& sql) {
    std::vector<Row> found;
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(connection_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) fail(sql);
    int code = sqlite3_step(statement);
    for (; code == SQLITE_ROW; code = sqlite3_step(statement)) {
      Row row;
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
        row.emplace_back(text != nullptr ? text : "NULL");
      }
      found.push_back(std::move(row));
    }
    sqlite3_finalize(statement);
    if (code != SQLITE_DONE) fail(sql);
    return found;
  }
  void execute(const std::string& sql) {
    if (sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(sql);
  }

 private:
  [[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error(what + ": " + sqlite3_errmsg(connection_));
  }
  sqlite3* connection_ = nullptr;
};

/// Lost with power, or different in every run.
bool is_left_out(const std::string& table, const std::string& column) {
  static const std::set<std::string> everywhere{
      "lease_token", "lease_until", "lease_owner", "attempt",    "reported",        "until",
      "id",          "position",    "key",         "leases",     "start_by",        "close_by",
      "overdue_at",  "details",     "started_at",  "alive_by",   "renewed_at",      "ready_at",
      "ready_no",    "due_at",      "entry_place", "capability", "details_encoding"};
  // When a released activity becomes visible again.
  if (table == "duramen_worker_queue" && column == "visible_at") return true;
  // Random in every file.
  if (table == "duramen_schema" && column == "store_id") return true;
  if (table == "duramen_executions" && column == "started_at") return false;
  if (table == "duramen_key_values" && column == "key") return false;
  return everywhere.contains(column);
}

bool is_table_left_out(const std::string& table) {
  return table == "duramen_counters" || table == "duramen_boots" || table == "duramen_sessions" ||
         table.starts_with("sqlite_");
}

std::string escaped(const std::string& text) {
  // Long values are shortened to their length and ends: whole payloads would make failures unreadable.
  if (text.size() <= 400) return text;
  return text.substr(0, 200) + "...(" + std::to_string(text.size()) + " of hash " +
         std::to_string(std::hash<std::string>{}(text)) + ")..." + text.substr(text.size() - 60);
}

struct Contradiction {
  const char* what;
  const char* sql;
};

constexpr Contradiction contradictions[] = {
    {"a history whose turns do not follow each other",
     "SELECT instance_key, execution, first_event_id FROM (SELECT *, lag(last_event_id, 1, 0) OVER "
     "(PARTITION BY "
     "instance_key, execution ORDER BY first_event_id) AS before FROM duramen_history) WHERE first_event_id "
     "<> "
     "before + 1"},
    {"a turn with other events than it lists",
     // [first id, first time, event, ...]
     "SELECT instance_key, execution, first_event_id FROM duramen_history WHERE json_array_length(events) - "
     "2 <> "
     "last_event_id - first_event_id + 1 OR json_extract(events, '$[0]') <> first_event_id"},
    {"a history without its instance",
     "SELECT instance_key FROM duramen_history WHERE instance_key NOT IN (SELECT key FROM "
     "duramen_instances)"},
    {"an instance whose last event is not the last of its history",
     "SELECT instance_id, last_event_id FROM duramen_instances i WHERE last_event_id <> coalesce((SELECT "
     "max(last_event_id) FROM duramen_history h WHERE h.instance_key = i.key AND h.execution = i.execution), "
     "0)"},
    {"an execution whose last event is not the last of its history",
     "SELECT instance_key, execution FROM duramen_executions e WHERE last_event_id <> coalesce((SELECT "
     "max(last_event_id) FROM duramen_history h WHERE h.instance_key = e.instance_key AND h.execution = "
     "e.execution), 0)"},
    {"an execution before the current one that is missing",
     "SELECT instance_id FROM duramen_instances i WHERE execution - 1 <> (SELECT count(*) FROM "
     "duramen_executions e WHERE "
     "e.instance_key = i.key)"},
    {"a pending instance with a history",
     "SELECT instance_id FROM duramen_instances WHERE status = 'Pending' AND last_event_id <> 0"},
    {"a pending instance without a start message",
     "SELECT instance_id FROM duramen_instances WHERE status = 'Pending' AND key NOT IN (SELECT instance_key "
     "FROM "
     "duramen_queue)"},
    {"a message without its instance",
     "SELECT instance_key, place FROM duramen_queue WHERE instance_key NOT IN (SELECT key FROM "
     "duramen_instances)"},
    {"a message to an instance that has ended",
     "SELECT q.instance_key, q.place FROM duramen_queue q JOIN duramen_instances i ON i.key = q.instance_key "
     "WHERE i.status IN "
     "('Completed', 'Failed', 'Cancelled')"},
    {"two entries of one instance",
     "SELECT instance_key FROM duramen_queue WHERE capability IS NOT NULL GROUP BY instance_key HAVING "
     "count(*) > 1"},
    {"a message of an instance that no fetch finds",
     "SELECT instance_key, place FROM duramen_queue WHERE fire_at IS NULL AND instance_key NOT IN "
     "(SELECT instance_key FROM duramen_queue WHERE capability IS NOT NULL OR (due_at IS NOT NULL AND "
     "fire_at IS NULL))"},
    {"a timer that no fetch finds",
     "SELECT instance_key, place FROM duramen_queue WHERE fire_at IS NOT NULL AND due_at IS NULL AND "
     "instance_key NOT IN (SELECT instance_key FROM duramen_queue WHERE capability IS NOT NULL OR due_at IS "
     "NOT NULL)"},
    {"an entry at another place than its instance says",
     "SELECT i.instance_id, q.place FROM duramen_queue q JOIN duramen_instances i ON i.key = q.instance_key "
     "WHERE q.capability IS NOT NULL AND q.place <> coalesce(i.entry_place, (SELECT min(m.place) FROM "
     "duramen_queue m WHERE m.instance_key = i.key AND m.fire_at IS NULL))"},
    {"a place of an entry without an entry",
     "SELECT instance_id FROM duramen_instances i WHERE entry_place IS NOT NULL AND NOT EXISTS (SELECT 1 "
     "FROM "
     "duramen_queue q WHERE q.instance_key = i.key AND q.place = i.entry_place AND q.capability IS NOT "
     "NULL)"},
    {"a turn lease without an entry",
     "SELECT instance_id FROM duramen_instances WHERE lease_token IS NOT NULL AND entry_place IS NULL"},
    {"a cancel that is not in the queue",
     "SELECT instance_id FROM duramen_instances i WHERE cancel_place IS NOT NULL AND status NOT IN "
     "('Completed', 'Failed', 'Cancelled') AND NOT EXISTS (SELECT 1 FROM duramen_queue q WHERE "
     "q.instance_key = i.key AND q.place = i.cancel_place)"},
    {"an end without its time",
     "SELECT instance_id FROM duramen_instances WHERE (status IN ('Completed', 'Failed', 'Cancelled')) <> "
     "(ended_at IS NOT NULL)"},
    {"work without an instance, or of an ended one",
     "SELECT w.instance_key, w.activity FROM duramen_worker_queue w LEFT JOIN duramen_instances i ON i.key = "
     "w.instance_key "
     "WHERE "
     "i.key IS NULL OR i.status IN ('Completed', 'Failed', 'Cancelled')"},
    {"work that no event scheduled",
     "SELECT w.instance_key, w.activity FROM duramen_worker_queue w JOIN duramen_instances i ON i.key = "
     "w.instance_key WHERE "
     "w.execution = i.execution AND w.activity > i.last_event_id"},
    {"half a lease",
     "SELECT instance_key FROM duramen_worker_queue WHERE (lease_token IS NULL) <> (lease_until IS NULL) OR "
     "(lease_token "
     "IS NULL) <> (lease_owner IS NULL)"},
    {"half a turn lease",
     "SELECT instance_id FROM duramen_instances WHERE (lease_token IS NULL) <> (lease_until IS NULL)"},
    {"a number that may be used again",
     "SELECT value FROM duramen_counters WHERE name = 'next_number' AND (value <= (SELECT coalesce(max(key), "
     "0) FROM "
     "duramen_instances) OR value <= (SELECT coalesce(max(position), 0) FROM duramen_worker_queue))"},
    {"key-values without their instance",
     "SELECT instance_key FROM duramen_key_values WHERE instance_key NOT IN (SELECT key FROM "
     "duramen_instances WHERE "
     "has_key_values = 1)"},
};

}  // namespace

std::string durable_content(const std::string& path) {
  Reader reader{path};
  std::string content;
  reader.execute("BEGIN");
  for (const Row& table : reader.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")) {
    const std::string& name = table[0];
    if (is_table_left_out(name)) continue;
    std::string columns;
    std::optional<std::string> order;
    std::size_t width = 1;
    bool belongs_to_instance = name == "duramen_instances";
    for (const Row& column : reader.rows("SELECT name FROM pragma_table_info('" + name + "')")) {
      if (column[0] == "id" || column[0] == "position") order = "t." + column[0];
      if (column[0] == "instance_key") belongs_to_instance = true;
      if (is_left_out(name, column[0]) || column[0].ends_with("_key")) continue;
      columns += ", t.\"" + column[0] + "\"";
      ++width;
    }
    std::string sql = "SELECT ";
    if (belongs_to_instance) {
      const std::string key = name == "duramen_instances" ? "t.key" : "t.instance_key";
      sql += "(SELECT instance_id FROM duramen_instances i WHERE i.key = " + key + ")";
    } else {
      sql += "'-'";
    }
    sql += columns + " FROM \"" + name + "\" t ORDER BY 1" + (order ? ", " + *order : "");
    for (std::size_t i = 2; i <= width && !order; ++i) sql += ", " + std::to_string(i);
    content += "== " + name + "\n";
    for (const Row& row : reader.rows(sql)) {
      for (const std::string& value : row) content += escaped(value) + "|";
      content += "\n";
    }
  }
  reader.execute("COMMIT");
  return content;
}

std::string find_contradiction(const std::string& path) {
  Reader reader{path};
  const auto damage = reader.rows("PRAGMA integrity_check(5)");
  if (damage.size() != 1 || damage[0][0] != "ok") return "damaged: " + damage[0][0];
  for (const Contradiction& contradiction : contradictions) {
    const auto found = reader.rows(contradiction.sql);
    if (found.empty()) continue;
    std::string text = contradiction.what;
    for (const std::string& value : found.front()) text += " " + value;
    return text;
  }
  return "";
}

std::vector<std::string> open_instances(const std::string& path) {
  std::vector<std::string> names;
  for (Row& row :
       Reader{path}.rows("SELECT instance_id FROM duramen_instances WHERE status NOT IN ('Completed', "
                         "'Failed', 'Cancelled') ORDER BY 1")) {
    names.push_back(std::move(row[0]));
  }
  return names;
}

void pretend_new_boot(const std::string& path) {
  Reader{path}.execute("UPDATE duramen_boots SET boot_id = 'earlier ' || number");
}

}  // namespace duramen::sqlite::test
