// The part of scale that runs: an actor takes a backlog of mail, once and in order, in one execution and over
// many.

#include "bench/workloads/backlog.hpp"

#include "bench/bench_store.hpp"
#include "bench/measure.hpp"
#include <duramen/client.hpp>
#include <duramen/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace dm = duramen;
using namespace std::chrono_literals;

namespace {

struct Mail {
  const char* name;
  int count;
  std::size_t bytes;
  int each;           ///< messages of one execution
  bool late = false;  ///< the first execution takes none of them and continues as new
};

/// An actor that fails at the first message out of its order.
struct Actor {
  int count = 0;
  int each = 0;
  dm::Task<std::string> operator()(dm::OrchestrationContext& ctx, int next) const {
    if (next < 0) {
      co_await ctx.schedule_wait("go");  // sent behind all mail
      co_return co_await ctx.continue_as_new(0);
    }
    for (int i = 0; i < each && next < count; ++i, ++next) {
      const std::string job = co_await ctx.dequeue_event("jobs");
      if (std::stoi(job) != next) throw std::runtime_error("took " + job.substr(0, 8));
    }
    if (next < count) co_return co_await ctx.continue_as_new(next);
    co_return "took " + std::to_string(count);
  }
};

void send(dm::Provider& provider, const Mail& mail) {
  const int batch = static_cast<int>(std::clamp<std::size_t>((std::size_t{8} << 20u) / mail.bytes, 1, 1000));
  for (int first = 0; first < mail.count; first += batch) {
    std::vector<dm::OutboundMessage> messages;
    for (int i = first; i < std::min(first + batch, mail.count); ++i) {
      std::string data = std::to_string(i) + " ";
      data.resize(std::max(mail.bytes, data.size()), 'x');
      messages.push_back({"a", dm::message::QueueMessage{"jobs", dm::Payload::text(std::move(data))}});
    }
    (void)provider.enqueue_messages(messages).value();
  }
}

void take(Scene& scene, const HelloTurns& turns, const Mail& mail) {
  scene.progress(std::string("scale: ") + mail.name);
  const auto made = scene.stores.make_with_finished(turns, 1);
  const dm::Store store(made->provider());
  dm::Registry registry;
  registry.add("actor", Actor{mail.count, mail.each});
  dm::Client client(store);
  client.start("a", "actor", mail.late ? -1 : 0).value();
  send(*made->provider(), mail);
  client.raise_event("a", "go", "").value();
  const Instant began = now();
  dm::RuntimeOptions options;
  options.log = [](const dm::LogRecord&) {};
  const dm::Runtime runtime(store, registry, options);
  const dm::InstanceState end = client.wait("a", 30min).value();
  const double each = milliseconds_between(began, now()) / mail.count;
  if (end.status != dm::Status::completed)
    throw std::runtime_error(std::string("scale: ") + mail.name + ": " +
                             (end.failure ? end.failure->describe() : "the actor did not complete"));
  scene.report.add(Figure{.workload = "scale",
                          .figure = mail.name,
                          .size = static_cast<std::size_t>(mail.count),
                          .per_second = 1e3 / each,
                          .ns_each = 1e6 * each});
}

}  // namespace

void take_backlogs(Scene& scene, const HelloTurns& turns, std::size_t most) {
  const int small = static_cast<int>(std::clamp<std::size_t>(most / 20, 1, 50'000));
  const int large = static_cast<int>(std::clamp<std::size_t>(most * 6 / 10'000, 1, 600));
  constexpr std::size_t kibibyte = std::size_t{1} << 10u;
  take(scene, turns, {"backlog of 1 KiB each", small, kibibyte, small});
  take(scene, turns, {"backlog of 1 KiB each, over executions", small, kibibyte, 1000});
  take(scene, turns, {"backlog of 2 MiB each", large, 2048 * kibibyte, large});
  take(scene, turns, {"backlog of 2 MiB each, over executions", large, 2048 * kibibyte, 10});
  take(scene, turns, {"backlog of 1 KiB each, put back", small, kibibyte, 1000, true});
  take(scene, turns, {"backlog of 2 MiB each, put back", large, 2048 * kibibyte, 10, true});
}

}  // namespace bench
