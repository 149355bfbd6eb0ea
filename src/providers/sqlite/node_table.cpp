#include "providers/sqlite/node_table.hpp"

#include "providers/common/node_json.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>

namespace duramen::inline v0::sqlite::detail {

namespace {

/// The first lease time that is less than `within` ago; not before this boot.
std::int64_t seen_since(const TransactionTime& time, Duration within) {
  constexpr int shift = TransactionTime::boot_shift;
  const std::int64_t boot_began = (time.lease_now >> shift) << shift;
  const std::int64_t most = std::clamp<std::int64_t>(within.count(), 0, TransactionTime::longest_ms);
  return std::max(boot_began, time.lease_now - most + 1);
}

}  // namespace

void begin_write_level(Connection& connection) {
  Statement begin{connection, "INSERT INTO duramen_settings (name, value) VALUES ('write_level', ?)"};
  begin.execute(engine_version);
}

NodeTable::NodeTable(Connection& connection)
    : forget_(connection, "DELETE FROM duramen_nodes WHERE seen < ?"),
      write_(connection,
             "INSERT OR REPLACE INTO duramen_nodes (node_id, run, min_level, max_level, seen, record) "
             "VALUES (?, ?, ?, ?, ?, ?)"),
      remove_(connection, "DELETE FROM duramen_nodes WHERE node_id = ? AND run = ?"),
      list_(connection,
            "SELECT node_id, min_level, max_level, seen, record, run FROM duramen_nodes WHERE seen >= ? "
            "ORDER BY node_id"),
      behind_(connection,
              "SELECT node_id FROM duramen_nodes WHERE max_level < ? AND seen >= ? ORDER BY node_id"),
      level_(connection, "SELECT value FROM duramen_settings WHERE name = 'write_level'"),
      set_level_(connection, "UPDATE duramen_settings SET value = ? WHERE name = 'write_level'") {}

void NodeTable::write(const TransactionTime& time, const NodeRecord& record) {
  forget_.execute(seen_since(time, providers::forget_nodes_after));
  write_.execute(record.node.value, record.run, record.min_engine_version, record.max_engine_version,
                 time.lease_now, providers::node_json(record));
}

void NodeTable::remove(const NodeId& node, const std::string& run) { remove_.execute(node.value, run); }

std::vector<NodeRecord> NodeTable::list(const TransactionTime& time) {
  std::vector<NodeRecord> records;
  const std::int64_t oldest = seen_since(time, providers::forget_nodes_after);
  for (Cursor run = list_.run(oldest); run.step();) {
    NodeRecord& record = records.emplace_back();
    record.node = NodeId{run.string(0)};
    record.min_engine_version = static_cast<std::uint32_t>(run.integer(1));
    record.max_engine_version = static_cast<std::uint32_t>(run.integer(2));
    record.seen_at = from_unix_ms(time.now - (time.lease_now - run.integer(3)));
    providers::read_node_json(run.text(4), record);
    record.run = run.string(5);
  }
  return records;
}

std::uint32_t NodeTable::write_level() {
  Cursor run = level_.run();
  return run.step() ? static_cast<std::uint32_t>(run.integer(0)) : engine_version;
}

WriteLevelRaise NodeTable::raise(const TransactionTime& time, std::uint32_t level, Duration live_within) {
  WriteLevelRaise raise{.level = write_level()};
  if (level <= raise.level && !duramen::detail::mutant("write_level_falls")) return raise;
  for (Cursor run = behind_.run(level, seen_since(time, live_within)); run.step();)
    raise.held_back_by.emplace_back(run.string(0));
  if (!raise.held_back_by.empty()) return raise;
  set_level_.execute(level);
  raise.level = level;
  return raise;
}

}  // namespace duramen::inline v0::sqlite::detail
