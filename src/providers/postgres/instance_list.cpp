#include "providers/postgres/instance_list.hpp"

#include "providers/postgres/identifier.hpp"
#include "providers/postgres/instance_info.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace duramen::inline v0::postgres::detail {

namespace {

class Conditions {
 public:
  explicit Conditions(const InstanceQuery& query) {
    const InstanceFilter& filter = query.filter;
    const bool newest_first = query.order == InstanceOrder::newest_first;
    if (query.after)
      number(newest_first ? "i.key < $" : "i.key > $", static_cast<std::int64_t>(query.after.value));
    if (filter.ids) {
      TextColumn ids;
      for (const InstanceId& id : *filter.ids) ids.add(id.value);
      texts("i.instance_id = ANY ($", std::move(ids));
    }
    if (filter.id_prefix && !filter.id_prefix->empty()) prefix(*filter.id_prefix);
    if (filter.name) text("i.name = $", *filter.name);
    if (filter.version) text("i.version = $", *filter.version);
    if (!filter.statuses.empty()) {
      TextColumn statuses;
      for (const Status status : filter.statuses) statuses.add(to_string(status));
      texts("i.status = ANY ($", std::move(statuses));
    }
    if (filter.parent) {
      text("i.parent_key = (SELECT p.key FROM @instances p WHERE p.instance_id = $", filter.parent->value);
      where_ += ")";
    }
    // An instance whose parent is deleted counts as a root.
    if (filter.roots_only) {
      where_ +=
          " AND (i.parent_key IS NULL OR NOT EXISTS (SELECT 1 FROM @instances p WHERE p.key = i.parent_key))";
    }
    if (filter.created_from) number("i.created_at >= $", to_unix_ms(*filter.created_from));
    if (filter.created_before) number("i.created_at < $", to_unix_ms(*filter.created_before));
    if (filter.ended_before) number("i.ended_at < $", to_unix_ms(*filter.ended_before));
  }

  void number(std::string_view condition, std::int64_t value) {
    add(condition);
    parameters_.number(value);
  }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }
  [[nodiscard]] Parameters& parameters() noexcept { return parameters_; }
  [[nodiscard]] std::size_t count() const noexcept { return parameters_.values().size(); }

 private:
  /// `condition` ends before the number of its parameter.
  void add(std::string_view condition) {
    where_.append(" AND ").append(condition).append(std::to_string(count() + 1));
  }
  void text(std::string_view condition, std::string_view value) {
    add(condition);
    parameters_.text(value);
  }
  void texts(std::string_view condition, TextColumn&& values) {
    add(condition);
    where_ += ")";
    parameters_.add(std::move(values));
  }
  /// Ids are compared byte by byte, so the ids with one prefix form a range; the index finds its beginning.
  void prefix(const std::string& prefix) {
    text("i.instance_id >= $", prefix);
    add("starts_with(i.instance_id, $");
    where_ += ")";
    parameters_.text(prefix);
  }

  std::string where_ = " WHERE true";
  Parameters parameters_;
};

}  // namespace

ListStatement list_statement(const InstanceQuery& query, const std::string& quoted_schema) {
  Conditions conditions{query};
  const bool newest_first = query.order == InstanceOrder::newest_first;
  const std::int64_t limit = static_cast<std::int64_t>(std::min<std::size_t>(query.limit, 1u << 30)) + 1;
  std::string sql = "SELECT " + std::string(info_columns) +
                    (query.with_results ? std::string(result_columns) : std::string()) +
                    " FROM @instances i" + conditions.where() + " ORDER BY i.key" +
                    (newest_first ? " DESC" : "") + " LIMIT $" + std::to_string(conditions.count() + 1);
  conditions.parameters().number(limit);
  return {in_schema(sql, quoted_schema), std::move(conditions.parameters())};
}

}  // namespace duramen::inline v0::postgres::detail
