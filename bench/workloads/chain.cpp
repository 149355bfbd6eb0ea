// chain: the cost of one durable step without other work.

#include "bench/bars.hpp"
#include "bench/measure.hpp"
#include "bench/pairs.hpp"
#include "bench/workload.hpp"
#include <duramen/client.hpp>
#include <duramen/orchestration.hpp>
#include <duramen/registry.hpp>
#include <duramen/runtime.hpp>
#include <duramen/store.hpp>

#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace dm = duramen;

namespace {

constexpr int chain_steps = 50;
constexpr std::uint64_t chain_warm_up = 10;

dm::Task<int> chain(dm::OrchestrationContext& ctx) {
  int done = 0;
  for (int i = 0; i < chain_steps; ++i) done = co_await ctx.schedule_activity<int>("Step", i);
  co_return done;
}

/// The begin of each activity of an instance. From there on the instance does only steps.
class Trace {
 public:
  explicit Trace(const BenchStore& store) : store_(store) {}
  void clear() { began_.clear(); }
  void step() {
    if (began_.empty()) counts_ = store_.counts();
    began_.push_back(now());
  }
  [[nodiscard]] const std::vector<Instant>& began() const { return began_; }
  [[nodiscard]] const StoreCounts& counts() const { return counts_; }

 private:
  const BenchStore& store_;
  std::vector<Instant> began_;
  StoreCounts counts_;
};

void run_instance(dm::Client& client, const std::string& name, Instant& ended) {
  std::promise<std::string> outcome;
  dm::StartRequest request;
  request.instance = name;
  request.start.orchestration = "Chain";
  request.start.input = dm::Payload::none();
  client.run_async(std::move(request), [&](const dm::Result<dm::InstanceState>& state) {
    ended = now();
    outcome.set_value(!state                                   ? state.error().describe()
                      : state->status != dm::Status::completed ? std::string(dm::to_string(state->status))
                                                               : "");
  });
  const std::string problem = outcome.get_future().get();
  if (!problem.empty()) throw std::runtime_error("a chain did not complete: " + problem);
}

RunResult run_steps(const RunStore& place, const Limit& limit) {
  Trace trace(place.store);
  dm::Registry registry;
  registry.add("Chain", chain);
  registry.add("Step", [&trace](dm::ActivityContext&, int i) {
    trace.step();
    return i;
  });
  const dm::Store store(place.provider);
  const dm::Runtime runtime(store, std::move(registry));
  dm::Client client(store);

  Instant ended;
  for (std::uint64_t i = 0; i < chain_warm_up; ++i) {
    run_instance(client, "warm-up-" + std::to_string(i), ended);
  }
  place.mark();

  RunResult result;
  double synced = 0;
  std::optional<double> rows = 0;
  const Usage usage;
  while ((!limit.count || result.instances < *limit.count) &&
         (!limit.seconds || usage.wall_seconds() < *limit.seconds)) {
    trace.clear();
    run_instance(client, "run-" + std::to_string(result.instances), ended);
    const Spent spent = place.store.spent_since(trace.counts());
    if (trace.began().size() != chain_steps) throw std::runtime_error("a step of a chain was run twice");
    synced += spent.synced_commits;
    rows = rows && spent.row_writes ? std::optional(*rows + *spent.row_writes) : std::nullopt;
    for (std::size_t i = 0; i < trace.began().size(); ++i) {
      const Instant next = i + 1 < trace.began().size() ? trace.began()[i + 1] : ended;
      result.latencies_ms.push_back(milliseconds_between(trace.began()[i], next));
    }
    result.seconds += seconds_between(trace.began().front(), ended);
    result.count += chain_steps;
    ++result.instances;
  }
  result.cpu_cores = usage.cores();
  result.rss_mib = usage.rss_mib();
  result.syncs = synced / static_cast<double>(result.count);
  if (rows) result.row_writes = *rows / static_cast<double>(result.count);
  return result;
}

}  // namespace

void run_chain(Scene& scene) {
  const Row row = measure_pairs(scene, "chain", 1, Counted::steps, run_steps);
  // A step takes at most 1.3 times as long as the raw commit of its rows.
  judge(scene, row, {.least_ratio = 1 / 1.3, .most_syncs = 1});
}

}  // namespace bench
