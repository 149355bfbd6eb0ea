// The nodes that work on the store, and the write level.
#include "providers/common/node_json.hpp"
#include "testing/memory/state.hpp"
#include <duramen/detail/mutant.hpp>

namespace duramen::inline v0::testing {

void MemoryState::write_node(const NodeRecord& record) {
  const LeaseTime now = clock.lease_now();
  std::erase_if(nodes,
                [&](const auto& known) { return known.second.seen <= now - providers::forget_nodes_after; });
  nodes[record.node] = {record, now};
}

void MemoryState::remove_node(const NodeId& node, const std::string& run) {
  const auto known = nodes.find(node);
  if (known == nodes.end()) return;
  if (known->second.record.run == run || detail::mutant("a_node_removes_its_successor")) nodes.erase(known);
}

/// Nodes are seen in lease time: a step of the wall clock makes none of them dead or alive.
std::vector<NodeRecord> MemoryState::list_nodes() const {
  std::vector<NodeRecord> records;
  for (const auto& [id, known] : nodes) {
    records.push_back(known.record);
    records.back().seen_at = on_the_wall(known.seen);
  }
  return records;
}

WriteLevelRaise MemoryState::raise_write_level(std::uint32_t level, Duration live_within) {
  WriteLevelRaise raise{.level = write_level};
  if (level <= write_level && !detail::mutant("write_level_falls")) return raise;
  for (const auto& [id, known] : nodes) {
    if (known.record.max_engine_version < level && clock.lease_now() - known.seen < live_within)
      raise.held_back_by.push_back(id);
  }
  if (raise.held_back_by.empty()) raise.level = write_level = level;
  return raise;
}

}  // namespace duramen::inline v0::testing
