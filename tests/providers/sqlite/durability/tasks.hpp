// What this test program does when it is started again as another process: the name of a task, then its
// arguments.
#pragma once

#include <duramen/sqlite.hpp>

#include <string>
#include <vector>

namespace duramen::sqlite::test {

using Arguments = std::vector<std::string>;

/// Makes random calls until it is killed, and tells of each that was answered.
int do_random_work(const Arguments& arguments);
/// Starts instances and runs them, for so many seconds, beside others that do the same.
int run_instances(const Arguments& arguments);
/// Commits one batch after the other and counts them where others can see it.
int saturate(const Arguments& arguments);

}  // namespace duramen::sqlite::test
