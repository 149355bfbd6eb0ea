// timers: very many instances with one timer each, and how late the timers fire.

#include "bench/bench_store.hpp"
#include "bench/disk.hpp"
#include "bench/measure.hpp"
#include "bench/tally.hpp"
#include "bench/workload.hpp"
#include <duramen/client.hpp>
#include <duramen/orchestration.hpp>
#include <duramen/registry.hpp>
#include <duramen/runtime.hpp>
#include <duramen/store.hpp>
#include <duramen/time.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace dm = duramen;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t seconds_of_timers = 10;
constexpr std::size_t per_second_on_file = 10'000;
// The server shares the machine.
constexpr std::size_t per_second_on_server = 1'000;
constexpr double timers_bar_ms = 50;
// Time to start them all before the first is due.
constexpr std::size_t starts_per_second = 5'000;
constexpr std::size_t starts_at_once = 1'000;

std::int64_t unix_ms(dm::TimePoint when) { return when.time_since_epoch().count(); }

dm::Task<int> sleeper(dm::OrchestrationContext& ctx, std::int64_t due_ms) {
  const dm::TimePoint now = co_await ctx.utc_now();
  co_await ctx.schedule_timer(dm::Duration{std::max<std::int64_t>(0, due_ms - unix_ms(now))});
  co_return 0;
}

struct Schedule {
  dm::TimePoint first;
  std::size_t per_second;
  [[nodiscard]] dm::TimePoint due(std::size_t number) const {
    return first + dm::Duration{number * 1000 / per_second};
  }
};

void start_all(dm::Client& client, std::size_t count, const Schedule& schedule) {
  Tally started;
  for (std::size_t number = 0; number < count; ++number) {
    if (number >= starts_at_once) started.wait_for(number - starts_at_once);
    dm::StartRequest request;
    request.instance = "sleeper-" + std::to_string(number);
    request.start.orchestration = "Sleeper";
    request.start.input = dm::encode_payload<std::int64_t>(unix_ms(schedule.due(number)));
    client.start_async(std::move(request), [&started](const dm::Result<dm::StartOutcome>& outcome) {
      outcome ? started.one() : started.problem("timers: " + outcome.error().describe());
    });
  }
  started.wait_for(count);
}

}  // namespace

void run_timers(Scene& scene) {
  const std::size_t per_second = scene.arguments.on_postgres() ? per_second_on_server : per_second_on_file;
  const std::size_t count = scene.arguments.count.value_or(seconds_of_timers * per_second);
  scene.progress("timers: " + std::to_string(count) + ", " + std::to_string(per_second) +
                 " of them due each second");
  const double rate = disk_rate(scene.directory, 0.25);
  reset_peak_rss();
  const auto place = scene.stores.make();
  dm::Registry registry;
  registry.add("Sleeper", sleeper);
  const dm::Store store(place->provider());
  const dm::Runtime runtime(store, std::move(registry));
  dm::Client client(store);

  const dm::Clock& clock = dm::system_clock();
  const auto lead = dm::Duration{2000 + count * 1000 / starts_per_second};
  const dm::TimePoint first_due = clock.now() + lead;
  const Schedule schedule{first_due, per_second};
  start_all(client, count, schedule);
  const bool in_time = clock.now() < first_due;
  if (!in_time)
    scene.progress(
        "timers: warning: the starts took longer than expected; the first timers are late for that");

  const StoreCounts before = place->counts();
  const Usage usage;
  // Each instance's end carries the time of its last commit.
  const std::size_t last = count - 1;
  if (!client.wait("sleeper-" + std::to_string(last), lead + 10min))
    throw std::runtime_error("timers: not all fired");
  std::vector<double> late_ms;
  std::size_t unfinished = 0;
  for (std::size_t number = 0; number < count; ++number) {
    const std::string name = "sleeper-" + std::to_string(number);
    auto info = client.get_instance(name).value();
    if (!dm::is_final(info.status)) {
      ++unfinished;
      (void)client.wait(name, 1min).value();
      info = client.get_instance(name).value();
    }
    late_ms.push_back(static_cast<double>((info.updated_at - schedule.due(number)).count()));
  }
  // This shows a slow moment of the machine: only the timers that were due around it are late.
  for (std::size_t from = 0; from < count; from += per_second) {
    const auto begin = late_ms.begin() + static_cast<std::ptrdiff_t>(from);
    std::vector<double> piece(begin, begin + static_cast<std::ptrdiff_t>(std::min(per_second, count - from)));
    char text[96];
    std::snprintf(text, sizeof text, "timers due in second %zu: late by %.0f ms (p50), %.0f ms (p99)",
                  from / per_second + 1, percentile(piece, 0.5), percentile(piece, 0.99));
    scene.progress(text);
  }
  if (unfinished > 0) {
    scene.progress("timers: " + std::to_string(unfinished) + " ended after the one that was due last");
  }
  Row row;
  row.workload = "timers";
  row.store = scene.arguments.store;
  row.durability = scene.stores.durability();
  row.width = count;
  row.count = count;
  row.seconds = static_cast<double>(count) / static_cast<double>(per_second);
  row.per_second = static_cast<double>(per_second);
  set_percentiles(row, late_ms);
  row.cpu_cores = usage.cores();
  row.rss_mib = usage.rss_mib();
  const auto each = static_cast<double>(count);
  if (scene.arguments.store != "memory") {
    const Spent spent = place->spent_since(before);
    row.syncs = spent.synced_commits / each;
    if (spent.row_writes) row.row_writes = *spent.row_writes / each;
  }
  if (scene.stores.on_this_disk()) row.disk_rate = rate;
  scene.report.add(row);
  scene.judge_at_most("timers: p99 of lateness in ms", *row.p99_ms, timers_bar_ms);
}

}  // namespace bench
