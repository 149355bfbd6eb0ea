// The machine and the commit of the measurements.
#pragma once

#include <filesystem>
#include <string>

namespace bench {

/// The commit this program was built from; "unknown" outside a checkout, "-dirty" if it was changed.
[[nodiscard]] std::string built_commit();

/// Cores, CPU, file system of `directory`, kernel.
[[nodiscard]] std::string describe_machine(const std::filesystem::path& directory);

/// "ext4", "tmpfs", ...; "unknown" without system information.
[[nodiscard]] std::string file_system_of(const std::filesystem::path& directory);

}  // namespace bench
