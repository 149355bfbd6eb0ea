// The tasks of this test program as another process. Arguments: the name of a task, then what it needs.
#pragma once

#include <duramen/sqlite.hpp>

#include <string>
#include <vector>

namespace duramen::sqlite::test {

using Arguments = std::vector<std::string>;

/// Makes random calls until it is killed, and reports each answer.
int do_random_work(const Arguments& arguments);
/// Starts and runs instances for some seconds, together with other processes.
int run_instances(const Arguments& arguments);
/// Commits one batch after the other, and counts them in shared memory.
int saturate(const Arguments& arguments);

}  // namespace duramen::sqlite::test
