// The stored form of a node's record: one JSON object. Unknown members are ignored, so that a newer build can
// add some.
#pragma once

#include <duramen/provider.hpp>
#include <duramen/result.hpp>

#include <string>
#include <string_view>

namespace duramen::inline v0::providers {

/// How long the record of a node that is not seen any more is kept.
inline constexpr Duration forget_nodes_after = std::chrono::hours{24};

/// The error of write_node for an id that no store takes.
[[nodiscard]] Result<void> check_node_id(const NodeId& node);

/// All but the id, the run, the range of engine versions and `seen_at`, which have columns of their own.
[[nodiscard]] std::string node_json(const NodeRecord& record);
/// Leaves out what cannot be read: a record describes, and decides nothing.
void read_node_json(std::string_view json, NodeRecord& record);

}  // namespace duramen::inline v0::providers
