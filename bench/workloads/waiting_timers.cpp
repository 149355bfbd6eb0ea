// waiting: very many instances that wait for a timer. Memory must depend on the residency cap, not on their
// number.

#include "bench/bench_store.hpp"
#include "bench/measure.hpp"
#include "bench/workload.hpp"
#include "bench/workloads/starts.hpp"
#include <duramen/client.hpp>
#include <duramen/orchestration.hpp>
#include <duramen/runtime.hpp>
#include <duramen/store.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace bench {

namespace dm = duramen;

namespace {

constexpr std::uint64_t waiting_instances = 1'000'000;
// Relative to the memory after a tenth of them.
constexpr double most_growth = 1.25;

dm::Task<void> nap(dm::OrchestrationContext& ctx) {
  co_await ctx.schedule_timer(std::chrono::hours{24 * 30});
}

}  // namespace

void run_waiting(Scene& scene) {
  const Arguments& arguments = scene.arguments;
  const std::uint64_t instances = arguments.count.value_or(waiting_instances);
  reset_peak_rss();
  const auto bench_store = scene.stores.make();
  dm::Registry registry;
  registry.add("Nap", nap);
  const dm::Store store(bench_store->provider());
  // A cap below a tenth of them, for any count.
  const std::size_t cap =
      std::min<std::size_t>(dm::RuntimeOptions{}.max_resident_instances, instances / 20 + 1);
  const dm::Runtime runtime(store, std::move(registry), {.max_resident_instances = cap});
  dm::Client client(store);
  Starts starts(client);
  const Usage usage;
  double after_a_tenth = 0;
  for (std::uint64_t tenth = 1; tenth <= 10; ++tenth) {
    starts.run("nap", "Nap", instances * (tenth - 1) / 10, instances * tenth / 10);
    const double rss = current_rss_mib();
    if (tenth == 1) after_a_tenth = rss;
    scene.progress("waiting: " + std::to_string(instances * tenth / 10) + " instances, " +
                   std::to_string(static_cast<long>(rss)) + " MiB resident, cap " + std::to_string(cap));
  }
  Row row;
  row.workload = "waiting";
  row.store = arguments.store;
  row.durability = scene.stores.durability();
  row.width = cap;
  row.count = instances;
  row.seconds = usage.wall_seconds();
  row.per_second = static_cast<double>(instances) / row.seconds;
  row.cpu_cores = usage.cores();
  row.rss_mib = current_rss_mib();
  scene.report.add(row);
  scene.judge_at_most("waiting: memory in the end over that after a tenth", row.rss_mib / after_a_tenth,
                      most_growth);
}

}  // namespace bench
