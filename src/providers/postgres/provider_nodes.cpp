// The part of the Provider interface about nodes and the write level.
#include "providers/common/node_json.hpp"
#include "providers/postgres/error.hpp"
#include "providers/postgres/provider.hpp"

#include <string>

namespace duramen::inline v0::postgres::detail {

Result<void> PostgresProvider::write_node(const NodeRecord& record) {
  return guarded("write_node", [&]() -> Result<void> {
    if (Result<void> ok = providers::check_node_id(record.node); !ok) return ok;
    const std::string json = providers::node_json(record);
    Parameters parameters;
    parameters.number(transaction_time().lease_now)
        .text(record.node.value)
        .text(record.run)
        .number(record.min_engine_version)
        .number(record.max_engine_version)
        .text(json)
        .number(whole(providers::forget_nodes_after));
    (void)run(queries_.write_node, parameters);
    return {};
  });
}

Result<void> PostgresProvider::remove_node(const NodeId& node, const std::string& run_id) {
  return guarded("remove_node", [&]() -> Result<void> {
    Parameters parameters;
    parameters.text(node.value).text(run_id);
    (void)run(queries_.remove_node, parameters);
    return {};
  });
}

Result<std::vector<NodeRecord>> PostgresProvider::list_nodes() {
  return guarded("list_nodes", [&]() -> Result<std::vector<NodeRecord>> {
    const TransactionTime now = transaction_time();
    Parameters parameters;
    parameters.number(now.now).number(now.lease_now);
    const Rows rows = read(queries_.nodes, parameters);
    std::vector<NodeRecord> records;
    for (int row = 0; row < rows.count(); ++row) {
      NodeRecord& record = records.emplace_back();
      record.node = NodeId{rows.string(row, 0)};
      record.min_engine_version = static_cast<std::uint32_t>(rows.integer(row, 1));
      record.max_engine_version = static_cast<std::uint32_t>(rows.integer(row, 2));
      record.seen_at = from_unix_ms(rows.integer(row, 3));
      providers::read_node_json(rows.text(row, 4), record);
      record.run = rows.string(row, 5);
    }
    return records;
  });
}

Result<std::uint32_t> PostgresProvider::get_write_level() {
  return guarded("get_write_level", [&]() -> Result<std::uint32_t> {
    const Rows rows = read(queries_.write_level, {});
    return rows.count() == 0 ? engine_version : static_cast<std::uint32_t>(rows.integer(0, 0));
  });
}

Result<WriteLevelRaise> PostgresProvider::raise_write_level(std::uint32_t level, Duration live_within) {
  return guarded("raise_write_level", [&]() -> Result<WriteLevelRaise> {
    Parameters parameters;
    parameters.number(transaction_time().lease_now).number(level).number(whole(live_within));
    const Rows rows = run(queries_.raise_write_level, parameters);
    WriteLevelRaise raise{.level = static_cast<std::uint32_t>(rows.integer(0, 0))};
    for (const std::string_view node : rows.texts(0, 1)) raise.held_back_by.emplace_back(node);
    return raise;
  });
}

}  // namespace duramen::inline v0::postgres::detail
