// The disk, without a store on it.
#pragma once

#include <filesystem>

namespace bench {

/// Appends of 4 KiB to a file in `directory` per second, each synced.
[[nodiscard]] double disk_rate(const std::filesystem::path& directory, double seconds);

}  // namespace bench
