// The durable content of a store's file in a comparable form, and a check that it is consistent.
#pragma once

#include <duramen/sqlite.hpp>

#include <string>
#include <vector>

namespace duramen::sqlite::test {

/// Every row of every table as text, without what need not survive a power loss: holder and end of leases
/// (with their limits and heartbeats), attempt counts, the delay of a release, whether a stolen lease was
/// reported. Incarnations and queue positions differ between two runs of the same calls: they are left out,
/// their order is kept.
[[nodiscard]] std::string durable_content(const std::string& path);

/// The first contradiction: damage, a hole in a history, an instance that disagrees with its history, a queue
/// row without an instance or of an ended one. Empty if there is none.
[[nodiscard]] std::string find_contradiction(const std::string& path);

/// The ids of instances that have not ended.
[[nodiscard]] std::vector<std::string> open_instances(const std::string& path);

/// Simulates a boot of the machine: earlier leases have ended.
void pretend_new_boot(const std::string& path);

}  // namespace duramen::sqlite::test
