// The promises for workloads with a raw counterpart.
#pragma once

#include "bench/report.hpp"
#include "bench/scene.hpp"

#include <optional>

namespace bench {

/// For SQLite with every commit synced. Absent: no promise.
struct Bars {
  std::optional<double> least_ratio;
  std::optional<double> least_per_disk_rate;  ///< `per_second` over syncs of the disk per second
  std::optional<double> most_syncs;
  std::optional<double> most_row_writes;
};

/// Reports for each measured promise whether the row keeps it.
void judge(const Scene& scene, const Row& row, const Bars& bars);

}  // namespace bench
