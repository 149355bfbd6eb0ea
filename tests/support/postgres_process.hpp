// Programs of an installed PostgreSQL, run as somebody whom a server lets run it: it refuses root. For tests
// and benchmarks.
#pragma once

#include <filesystem>
#include <string>
#include <sys/types.h>
#include <vector>

namespace duramen::test {

/// Where initdb, postgres and the others are; empty if there is no PostgreSQL of version 15 or newer. The
/// environment variable DURAMEN_POSTGRES_BIN names another place.
[[nodiscard]] std::string find_postgres_programs();

/// What becomes of a program when the thread that started it ends.
enum class Orphan { stays, is_interrupted };

/// Starts a program in a process group of its own, with its output at the end of `log`.
[[nodiscard]] pid_t launch_as_owner(const std::vector<std::string>& command, const std::string& log,
                                    Orphan orphan = Orphan::stays);
/// The same, and waits for it. Throws std::runtime_error.
void run_as_owner(const std::vector<std::string>& command, const std::string& log);
/// Makes a directory belong to whoever such programs run as.
void give_to_owner(const std::filesystem::path& directory);

}  // namespace duramen::test
