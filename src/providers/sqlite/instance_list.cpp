#include "providers/sqlite/instance_list.hpp"

#include "providers/sqlite/instance_info.hpp"
#include "providers/sqlite/json_list.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace duramen::inline v0::sqlite::detail {

namespace {

/// The conditions of a query, and the values for their parameters in the same order. Each query gets a
/// statement made of its own conditions, so that it can use the best index.
class Conditions {
 public:
  explicit Conditions(const InstanceQuery& query) {
    const InstanceFilter& filter = query.filter;
    const bool newest_first = query.order == InstanceOrder::newest_first;
    if (query.after) add(newest_first ? "i.key < ?" : "i.key > ?", query.after.value);
    if (filter.ids) {
      add("i.instance_id IN (SELECT value FROM json_each(?))", json_list(*filter.ids, &InstanceId::value));
    }
    if (filter.id_prefix && !filter.id_prefix->empty()) add_prefix(*filter.id_prefix);
    if (filter.name) add("i.name = ?", *filter.name);
    if (filter.version) add("i.version = ?", *filter.version);
    if (!filter.statuses.empty()) {
      const auto text = [](Status status) { return to_string(status); };
      add("i.status IN (SELECT value FROM json_each(?))", json_list(filter.statuses, text));
    }
    if (filter.parent) {
      add("i.parent_key IS NOT NULL AND i.parent_key = (SELECT p.key FROM duramen_instances p WHERE "
          "p.instance_id = "
          "?)",
          filter.parent->value);
    }
    // An instance whose parent is deleted counts as a root.
    if (filter.roots_only) {
      text_ +=
          " AND (i.parent_key IS NULL OR NOT EXISTS (SELECT 1 FROM duramen_instances p WHERE p.key = "
          "i.parent_key))";
    }
    if (filter.created_from) add("i.created_at >= ?", to_unix_ms(*filter.created_from));
    if (filter.created_before) add("i.created_at < ?", to_unix_ms(*filter.created_before));
    if (filter.ended_before) {
      add("i.ended_at < ?", to_unix_ms(*filter.ended_before));
    }
  }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  void bind_to(Statement& statement) const {
    int index = 0;
    for (const auto& value : values_) {
      ++index;
      std::visit([&](const auto& v) { statement.bind_value(index, v); }, value);
    }
  }
  [[nodiscard]] int count() const noexcept { return static_cast<int>(values_.size()); }

 private:
  using Value = std::variant<std::int64_t, std::string>;

  void add(std::string_view condition, std::int64_t value) {
    text_.append(" AND ").append(condition);
    values_.emplace_back(value);
  }
  void add(std::string_view condition, std::uint64_t value) {
    add(condition, static_cast<std::int64_t>(value));
  }
  void add(std::string_view condition, std::string value) {
    text_.append(" AND ").append(condition);
    values_.emplace_back(std::move(value));
  }
  /// Ids are compared byte by byte, so the ids with one prefix form a range.
  void add_prefix(const std::string& prefix) {
    add("i.instance_id >= ?", prefix);
    std::string end = prefix;
    while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
    if (end.empty()) return;
    end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
    add("i.instance_id < ?", end);
  }

  std::string text_ = " WHERE 1";
  std::vector<Value> values_;
};

}  // namespace

InstanceList::InstanceList(Connection& connection)
    : connection_(connection),
      executions_(
          connection,
          // Only the last execution has a result: the earlier ones ended by continue-as-new.
          "SELECT e.execution, e.status, e.version, e.last_event_id, e.started_at, e.ended_at, NULL, NULL, "
          "NULL, "
          "NULL, NULL, NULL, NULL, NULL, NULL FROM duramen_instances i JOIN duramen_executions e ON "
          "e.instance_key = i.key "
          "WHERE i.instance_id = ?1 UNION ALL "
          "SELECT i.execution, i.status, i.version, i.last_event_id, i.execution_started_at, "
          "CASE WHEN i.status = 'ContinuedAsNew' THEN i.updated_at ELSE i.ended_at END" +
              std::string(result_columns) + " FROM duramen_instances i WHERE i.instance_id = ?1 ORDER BY 1"),
      tree_(connection,
            // A damaged row could make the root its own descendant.
            "WITH RECURSIVE tree (key, depth, root) AS (SELECT key, 0, key FROM duramen_instances "
            "WHERE instance_id = ? UNION "
            "SELECT c.key, tree.depth + 1, tree.root FROM tree JOIN duramen_instances c INDEXED BY "
            "duramen_instances_by_parent "
            "ON c.parent_key = tree.key WHERE c.parent_key IS NOT NULL AND c.key <> tree.root) "
            "SELECT " +
                std::string(info_columns) +
                " FROM tree CROSS JOIN duramen_instances i ON i.key = tree.key ORDER BY tree.depth, i.key") {}

InstancePage InstanceList::page(const InstanceQuery& query) {
  InstancePage page;
  if (query.limit == 0) return page;
  const bool newest_first = query.order == InstanceOrder::newest_first;
  const Conditions conditions{query};
  Statement statement{connection_, "SELECT " + std::string(info_columns) +
                                       (query.with_results ? std::string(result_columns) : std::string()) +
                                       " FROM duramen_instances i" + conditions.text() + " ORDER BY i.key" +
                                       (newest_first ? " DESC" : "") + " LIMIT ?"};
  conditions.bind_to(statement);
  // One row more than wanted shows that there is another page.
  const std::int64_t limit = static_cast<std::int64_t>(std::min<std::size_t>(query.limit, 1u << 30)) + 1;
  statement.bind_value(conditions.count() + 1, limit);
  Cursor run = statement.run();
  while (run.step()) {
    if (page.instances.size() == query.limit) {
      page.next = page.instances.back().incarnation;
      break;
    }
    page.instances.push_back(read_info(run, query.with_results ? Results::wanted : Results::left_out));
  }
  return page;
}

std::vector<ExecutionInfo> InstanceList::executions(const InstanceId& id) {
  std::vector<ExecutionInfo> executions;
  Cursor run = executions_.run(id.value);
  while (run.step()) {
    ExecutionInfo& info = executions.emplace_back();
    info.execution = ExecutionId{run.number(0)};
    info.status = read_status(run, 1, info.unreadable);
    info.version = run.string(2);
    info.last_event_id = EventId{run.number(3)};
    info.started_at = from_unix_ms(run.integer(4));
    if (!run.is_null(5)) info.ended_at = from_unix_ms(run.integer(5));
    info.failure = read_failure(run, 6);
    info.output = read_output(run, 6);
  }
  return executions;
}

std::vector<InstanceInfo> InstanceList::tree(const InstanceId& root) {
  std::vector<InstanceInfo> tree;
  Cursor run = tree_.run(root.value);
  while (run.step()) tree.push_back(read_info(run, Results::left_out));
  return tree;
}

}  // namespace duramen::inline v0::sqlite::detail
