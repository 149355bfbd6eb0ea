// Runs programs of an installed PostgreSQL for tests and benchmarks, as a user other than root: a server
// refuses root.
#pragma once

#include <filesystem>
#include <string>
#include <sys/types.h>
#include <vector>

namespace duramen::test {

/// The directory of initdb, postgres and the other programs; empty without PostgreSQL 15 or newer. The
/// environment variable DURAMEN_POSTGRES_BIN overrides it.
[[nodiscard]] std::string find_postgres_programs();

/// The effect on a program when the thread that started it ends.
enum class Orphan { stays, is_interrupted };

/// Starts a program in a new process group. Its output is appended to `log`.
[[nodiscard]] pid_t launch_as_owner(const std::vector<std::string>& command, const std::string& log,
                                    Orphan orphan = Orphan::stays);
/// The same, and waits for it. Throws std::runtime_error.
void run_as_owner(const std::vector<std::string>& command, const std::string& log);
/// Gives a directory to the user that such programs run as.
void give_to_owner(const std::filesystem::path& directory);

}  // namespace duramen::test
