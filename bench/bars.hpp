// What is promised of the workloads that have a raw counterpart.
#pragma once

#include "bench/report.hpp"
#include "bench/scene.hpp"

#include <optional>

namespace bench {

/// For SQLite with every commit synced. Absent: nothing is promised.
struct Bars {
  std::optional<double> least_ratio;
  std::optional<double> least_per_disk_rate;  ///< `per_second` over what the disk does in a second
  std::optional<double> most_syncs;
  std::optional<double> most_row_writes;
};

/// Says of each whether the row keeps it; of what was not measured, nothing.
void judge(const Scene& scene, const Row& row, const Bars& bars);

}  // namespace bench
