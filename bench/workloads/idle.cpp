// idle: the cost of an idle runtime in a store with many waiting instances.

#include "bench/bench_store.hpp"
#include "bench/measure.hpp"
#include "bench/workload.hpp"
#include "bench/workloads/starts.hpp"
#include <duramen/client.hpp>
#include <duramen/forwarding_provider.hpp>
#include <duramen/orchestration.hpp>
#include <duramen/runtime.hpp>
#include <duramen/store.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace bench {

namespace dm = duramen;

namespace {

constexpr std::uint64_t idle_instances = 10'000;
constexpr double default_seconds = 20;
constexpr double most_calls_per_second = 1;
constexpr double most_cores = 0.01;

/// Counts every call of the store.
class CallCounter final : public dm::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::atomic<std::uint64_t> calls{0};

 protected:
  std::optional<dm::Error> before(dm::ProviderCall& /*call*/) override {
    ++calls;
    return std::nullopt;
  }
};

dm::Task<void> wait_for_event(dm::OrchestrationContext& ctx) {
  co_await ctx.schedule_wait<std::string>("never");
}
dm::Task<void> wait_for_timer(dm::OrchestrationContext& ctx) {
  co_await ctx.schedule_timer(std::chrono::hours{24 * 30});
}

}  // namespace

void run_idle(Scene& scene) {
  const Arguments& arguments = scene.arguments;
  const std::uint64_t instances = arguments.count.value_or(idle_instances);
  scene.progress("idle: starting " + std::to_string(instances) + " instances");
  reset_peak_rss();
  const auto bench_store = scene.stores.make();
  auto counter = std::make_shared<CallCounter>(bench_store->provider());
  dm::Registry registry;
  registry.add("WaitForEvent", wait_for_event);
  registry.add("WaitForTimer", wait_for_timer);
  registry.add("Never", [](dm::ActivityContext&) { return 0; });  // so that it also fetches activities
  const dm::Store store(counter);
  const dm::Runtime runtime(store, std::move(registry));
  dm::Client client(store);
  Starts starts(client);
  starts.run("event", "WaitForEvent", 0, instances / 2);
  starts.run("timer", "WaitForTimer", 0, instances - instances / 2);
  std::this_thread::sleep_for(std::chrono::seconds{3});  // the last starts finish their work

  // On a server, count the calls that reach it, including listening.
  const auto asked = [&] { return bench_store->queries().value_or(counter->calls); };
  const std::uint64_t before = asked();
  const Usage usage;
  std::this_thread::sleep_for(std::chrono::duration<double>(default_seconds));
  Row row;
  row.seconds = usage.wall_seconds();
  row.workload = "idle";
  row.store = arguments.store;
  row.durability = scene.stores.durability();
  row.width = instances;
  row.count = asked() - before;
  row.per_second = static_cast<double>(row.count) / row.seconds;
  row.cpu_cores = usage.cores();
  row.rss_mib = usage.rss_mib();
  scene.report.add(row);
  scene.judge_at_most(arguments.on_postgres() ? "idle: queries per second" : "idle: store calls per second",
                      row.per_second, most_calls_per_second);
  scene.judge_at_most("idle: cores", row.cpu_cores, most_cores);
}

}  // namespace bench
