// The disk, without a store on it.
#pragma once

#include <filesystem>

namespace bench {

/// How often a second 4 KiB can be appended to a file in `directory` and synced.
[[nodiscard]] double disk_rate(const std::filesystem::path& directory, double seconds);

}  // namespace bench
