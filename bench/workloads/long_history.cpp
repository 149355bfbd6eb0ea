// long: one orchestration with very many steps. A step must cost the same at the end as at the beginning.

#include "bench/bench_store.hpp"
#include "bench/disk.hpp"
#include "bench/measure.hpp"
#include "bench/workload.hpp"
#include <duramen/client.hpp>
#include <duramen/orchestration.hpp>
#include <duramen/registry.hpp>
#include <duramen/runtime.hpp>
#include <duramen/store.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace dm = duramen;

namespace {

constexpr std::size_t all_steps = 10'000;
constexpr double cost_bar = 1.2;
// The store has whole pages, and their use varies.
constexpr double disk_bar = 1.1;

dm::Task<int> march(dm::OrchestrationContext& ctx, int steps) {
  int done = 0;
  for (int i = 0; i < steps; ++i) done = co_await ctx.schedule_activity<int>("Step", i);
  co_return done;
}

struct March {
  std::vector<double> step_ns;
  double bytes = 0;  ///< of the store when it was closed
};

March run_march(const Scene& scene, std::size_t steps) {
  const auto place = scene.stores.make();
  std::vector<Instant> began;
  began.reserve(steps + 1);
  {
    dm::Registry registry;
    registry.add("March", march);
    registry.add("Step", [&began](dm::ActivityContext&, int i) {
      began.push_back(now());
      return i;
    });
    const dm::Store store(place->provider());
    const dm::Runtime runtime(store, std::move(registry));
    dm::Client client(store);
    (void)client.start("march", "March", static_cast<int>(steps)).value();
    const dm::InstanceState state = client.wait("march", std::chrono::minutes{10}).value();
    if (state.status != dm::Status::completed) throw std::runtime_error("long: it did not complete");
    began.push_back(now());
  }
  if (began.size() != steps + 1) throw std::runtime_error("long: a step was run twice");
  March result;
  for (std::size_t i = 0; i < steps; ++i)
    result.step_ns.push_back(1e6 * milliseconds_between(began[i], began[i + 1]));
  result.bytes = place->close_and_weigh();
  return result;
}

}  // namespace

void run_long(Scene& scene) {
  const std::size_t steps = scene.arguments.count.value_or(all_steps);
  const std::size_t piece = std::max<std::size_t>(1, steps / 10);
  scene.progress("long: " + std::to_string(steps) + " steps");
  const March half = run_march(scene, steps / 2);
  const March whole = run_march(scene, steps);

  double first = 0;
  double last = 0;
  for (std::size_t at = 0; at + piece <= steps; at += piece) {
    const auto begin = whole.step_ns.begin() + static_cast<std::ptrdiff_t>(at);
    last = median({begin, begin + static_cast<std::ptrdiff_t>(piece)});
    if (at == 0) first = last;
    Figure figure{.workload = "long", .figure = "step", .size = at + piece};
    figure.ns_each = last;
    figure.per_second = 1e9 / last;
    figure.growth = last / first;
    scene.report.add(figure);
  }
  const double half_each = half.bytes / static_cast<double>(steps / 2);
  for (const auto& [size, bytes] : {std::pair{steps / 2, half.bytes}, std::pair{steps, whole.bytes}}) {
    Figure figure{.workload = "long", .figure = "disk", .size = size};
    figure.bytes_each = bytes / static_cast<double>(size);
    figure.growth = *figure.bytes_each / half_each;
    scene.report.add(figure);
  }
  scene.judge_at_most("long: the last tenth's step against the first's", last / first, cost_bar);
  scene.judge_at_most("long: bytes of a step, whole against half",
                      whole.bytes / static_cast<double>(steps) / half_each, disk_bar);
}

}  // namespace bench
