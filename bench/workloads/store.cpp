// store: turns committed straight to the store by one thread, without an engine.

#include <duramen/store.hpp>

#include "bench/bench_store.hpp"
#include "bench/disk.hpp"
#include "bench/measure.hpp"
#include "bench/recording.hpp"
#include "bench/workload.hpp"
#include "bench/workloads/greeting.hpp"
#include <duramen/client.hpp>
#include <duramen/runtime.hpp>
#include <duramen/testing/memory_provider.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace dm = duramen;

namespace {

/// The two turns of a hello: as the engine makes them, with other names.
class Template {
 public:
  Template() {
    auto recorder = std::make_shared<RecordingProvider>(
        std::make_shared<dm::testing::MemoryProvider>(dm::system_clock()));
    {
      const dm::Store store(recorder);
      const dm::Runtime runtime(store, greeting_registry());
      dm::Client client(store);
      (void)client.start("template", "Hello", "world").value();
      (void)client.wait("template", std::chrono::seconds{10}).value();
    }
    for (Call& call : recorder->take().calls) {
      auto* commit_call = std::get_if<CommitCall>(&call);
      if (commit_call == nullptr) continue;
      for (dm::TurnCommit& commit : commit_call->commits) turns_.push_back(std::move(commit));
    }
    if (turns_.size() != 2) throw std::runtime_error("a hello was expected to take two turns");
  }

  [[nodiscard]] dm::TurnCommit first(std::uint64_t number) const {
    dm::TurnCommit commit = turns_[0];
    commit.token = dm::CommitToken{2 * number + 1};
    commit.instance = name(number);
    std::get<dm::FusedStart>(commit.basis).request.instance = commit.instance;
    dm::WorkerItem& item = commit.worker_items.at(0);
    item.activity.instance = commit.instance;
    item.born_leased = dm::LeaseToken{number + 1};
    return commit;
  }
  [[nodiscard]] dm::TurnCommit second(std::uint64_t number, dm::Incarnation incarnation) const {
    dm::TurnCommit commit = turns_[1];
    commit.token = dm::CommitToken{2 * number + 2};
    commit.instance = name(number);
    commit.incarnation = incarnation;
    dm::WorkAck& ack = commit.work_acks.at(0);
    ack.instance = commit.instance;
    ack.lease.key.incarnation = incarnation;
    ack.lease.token = dm::LeaseToken{number + 1};
    return commit;
  }

 private:
  static dm::InstanceId name(std::uint64_t number) { return "run-" + std::to_string(number); }
  std::vector<dm::TurnCommit> turns_;
};

/// Commits and times it; throws unless every turn was stored.
std::vector<dm::CommitResult> commit(dm::Provider& provider, const std::vector<dm::TurnCommit>& batch,
                                     std::vector<double>& calls_ms) {
  const Instant began = now();
  auto results = provider.ack_orchestration_items(batch).value();
  calls_ms.push_back(milliseconds_between(began, now()));
  for (const dm::CommitResult& result : results) {
    if (result.outcome != dm::CommitOutcome::committed) throw std::runtime_error("a turn was not stored");
  }
  return results;
}

void measure(const Scene& scene, const Template& turns, std::size_t width) {
  const Arguments& arguments = scene.arguments;
  scene.progress("store batch " + std::to_string(width));
  const auto rate = arguments.on_sqlite() ? std::optional(disk_rate(scene.directory, 0.25)) : std::nullopt;
  reset_peak_rss();
  BenchStore store(arguments.store, scene.directory);
  std::vector<double> calls_ms;
  Row row;
  double cpu = 0;
  const dm::sqlite::Counters before = store.counters();
  const Instant began = now();
  while (arguments.count ? row.count < *arguments.count : seconds_between(began, now()) < arguments.seconds) {
    const std::uint64_t base = row.count / 2;
    std::vector<dm::TurnCommit> batch;
    for (std::size_t i = 0; i < width; ++i) batch.push_back(turns.first(base + i));
    double cpu_before = cpu_seconds();
    const auto created = commit(*store.provider(), batch, calls_ms);
    cpu += cpu_seconds() - cpu_before;
    batch.clear();
    for (std::size_t i = 0; i < width; ++i) batch.push_back(turns.second(base + i, created[i].incarnation));
    cpu_before = cpu_seconds();
    (void)commit(*store.provider(), batch, calls_ms);
    cpu += cpu_seconds() - cpu_before;
    row.count += 2 * width;
  }
  const dm::sqlite::Counters after = store.counters();
  row.workload = "store";
  row.store = arguments.store;
  row.durability = durability_of(arguments.store);
  row.width = width;
  for (const double ms : calls_ms) row.seconds += ms / 1e3;
  row.per_second = static_cast<double>(row.count) / row.seconds;
  row.cpu_cores = cpu / row.seconds;
  row.rss_mib = peak_rss_mib();
  set_percentiles(row, calls_ms);
  if (arguments.on_sqlite()) {
    row.syncs =
        static_cast<double>(after.synced_commits - before.synced_commits) / static_cast<double>(row.count);
    row.row_writes =
        static_cast<double>(after.row_writes - before.row_writes) / static_cast<double>(row.count);
    row.disk_rate = rate;
  }
  scene.report.add(row);
}

}  // namespace

void run_store(Scene& scene) {
  const Template turns;
  const std::vector<std::size_t> batches{1, 10, 100, 1000};
  const auto& asked = scene.arguments.widths;
  for (const std::size_t width : asked.empty() ? batches : asked) measure(scene, turns, width);
}

}  // namespace bench
