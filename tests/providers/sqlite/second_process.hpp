// The test program's part as another process on the same file; see support/child_process.hpp.
#pragma once

#include <string>
#include <vector>

namespace duramen::sqlite::test {

/// Runs in the new process. Arguments: the task, then what it needs. Returns the exit status.
int run_second_process(const std::vector<std::string>& arguments);

}  // namespace duramen::sqlite::test
