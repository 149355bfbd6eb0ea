// events-queue: one orchestration takes very many messages from its queue. events-each: very many
// orchestrations get one.

#include "bench/bars.hpp"
#include "bench/measure.hpp"
#include "bench/pairs.hpp"
#include "bench/tally.hpp"
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
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t queued = 100'000;
constexpr std::uint64_t waiting = 10'000;
constexpr std::size_t messages_per_call = 500;
constexpr int per_execution = 1'000;

/// As a long-lived actor does: continues as new from time to time.
dm::Task<int> drain(dm::OrchestrationContext& ctx, int left) {
  for (int i = 0; i < per_execution && left > 0; ++i, --left) (void)co_await ctx.dequeue_event("jobs");
  if (left > 0) co_await ctx.continue_as_new(left);
  co_return 0;
}

dm::Task<std::string> await_one(dm::OrchestrationContext& ctx) { co_return co_await ctx.schedule_wait("go"); }

dm::Registry event_registry() {
  dm::Registry registry;
  registry.add("Drain", drain);
  registry.add("AwaitOne", await_one);
  return registry;
}

void send(dm::Provider& provider, std::vector<dm::OutboundMessage>& messages, std::size_t least) {
  if (messages.size() < least || messages.empty()) return;
  (void)provider.enqueue_messages(messages).value();
  messages.clear();
}

void finish(RunResult& result, const RunStore& place, const StoreCounts& before, const Usage& usage) {
  result.seconds = usage.wall_seconds();
  result.cpu_cores = usage.cores();
  result.rss_mib = usage.rss_mib();
  const Spent spent = place.store.spent_since(before);
  const auto each = static_cast<double>(result.count);
  result.syncs = spent.synced_commits / each;
  if (spent.row_writes) result.row_writes = *spent.row_writes / each;
}

RunResult run_queue(const RunStore& place, std::uint64_t count) {
  const dm::Store store(place.provider);
  dm::Client client(store);
  (void)client.start("drain", "Drain", static_cast<int>(count)).value();
  std::vector<dm::OutboundMessage> messages;
  for (std::uint64_t i = 0; i < count; ++i) {
    messages.push_back({.target = "drain",
                        .body = dm::message::QueueMessage{.name = "jobs", .data = dm::Payload::text("job")}});
    send(*place.provider, messages, messages_per_call);
  }
  send(*place.provider, messages, 1);
  place.mark();

  const StoreCounts before = place.store.counts();
  const Usage usage;
  const dm::Runtime runtime(store, event_registry());
  const dm::InstanceState state = client.wait("drain", 10min).value();
  if (state.status != dm::Status::completed) throw std::runtime_error("events-queue: it did not complete");
  RunResult result;
  result.instances = result.count = count;
  finish(result, place, before, usage);
  return result;
}

RunResult run_each(const RunStore& place, std::uint64_t count) {
  const dm::Store store(place.provider);
  const dm::Runtime runtime(store, event_registry());
  dm::Client client(store);
  Tally started;
  for (std::uint64_t i = 0; i < count; ++i) {
    dm::StartRequest request;
    request.instance = "one-" + std::to_string(i);
    request.start.orchestration = "AwaitOne";
    client.start_async(std::move(request), [&](const dm::Result<dm::StartOutcome>& outcome) {
      outcome ? started.one() : started.problem("events-each: " + outcome.error().describe());
    });
  }
  started.wait_for(count);
  Tally ended;
  for (std::uint64_t i = 0; i < count; ++i) {
    client.wait_async("one-" + std::to_string(i), [&](const dm::Result<dm::InstanceState>& state) {
      const bool completed = state && state->status == dm::Status::completed;
      completed ? ended.one() : ended.problem("events-each: an instance did not complete");
    });
  }
  place.mark();

  const StoreCounts before = place.store.counts();
  const Usage usage;
  std::vector<dm::OutboundMessage> messages;
  for (std::uint64_t i = 0; i < count; ++i) {
    messages.push_back({.target = "one-" + std::to_string(i),
                        .body = dm::message::ExternalRaised{.name = "go", .data = dm::Payload::text("now")}});
    send(*place.provider, messages, messages_per_call);
  }
  send(*place.provider, messages, 1);
  ended.wait_for(count);
  RunResult result;
  result.instances = result.count = count;
  finish(result, place, before, usage);
  return result;
}

}  // namespace

void run_events(Scene& scene) {
  const auto measure = [&](const std::string& name, std::uint64_t usual, auto run) {
    const Row row =
        measure_pairs(scene, name, 1, Counted::all, [&](const RunStore& place, const Limit& limit) {
          return run(place, limit.seconds ? usual : limit.count.value_or(usual));
        });
    judge(scene, row, {.least_ratio = 0.5});
  };
  measure("events-queue", queued, run_queue);
  measure("events-each", waiting, run_each);
}

}  // namespace bench
