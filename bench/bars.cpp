#include "bench/bars.hpp"

#include <string>

namespace bench {

void judge(const Scene& scene, const Row& row, const Bars& bars) {
  if (!scene.arguments.on_sqlite()) return;
  const std::string title = row.workload + " width " + std::to_string(row.width) + ": ";
  if (bars.least_ratio && row.ratio)
    scene.judge_at_least(title + "ratio to the raw store", *row.ratio, *bars.least_ratio);
  if (bars.least_per_disk_rate && row.disk_rate) {
    scene.judge_at_least(title + "ratio to the disk's rate", row.per_second / *row.disk_rate,
                         *bars.least_per_disk_rate);
  }
  if (bars.most_syncs && row.syncs)
    scene.judge_at_most(title + "synced commits each", *row.syncs, *bars.most_syncs);
  if (bars.most_row_writes && row.row_writes)
    scene.judge_at_most(title + "row writes each", *row.row_writes, *bars.most_row_writes);
}

}  // namespace bench
