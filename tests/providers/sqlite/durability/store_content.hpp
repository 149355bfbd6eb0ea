// What a store's file promises to keep, in a form that two files can be compared in; and whether it makes
// sense.
#pragma once

#include <duramen/sqlite.hpp>

#include <string>
#include <vector>

namespace duramen::sqlite::test {

/// Every row of every table as text, without what need not survive power loss: who holds a lease and until
/// when (with the limits and heartbeats that go with it), how often something was handed out, when something
/// given back is to be seen again, whether a stolen lease was reported. Also without numbers that differ
/// between two runs of the same calls: incarnations and queue positions are left out, the order that they
/// stand for is kept.
[[nodiscard]] std::string durable_content(const std::string& path);

/// The first thing found that cannot be: damage, a hole in a history, an instance that disagrees with its
/// history, a row of a queue that belongs to nobody or to an instance that has ended. Empty if all is well.
[[nodiscard]] std::string find_contradiction(const std::string& path);

/// The names of instances that have not ended.
[[nodiscard]] std::vector<std::string> open_instances(const std::string& path);

/// The machine was started anew: leases of before have ended.
void pretend_new_boot(const std::string& path);

}  // namespace duramen::sqlite::test
