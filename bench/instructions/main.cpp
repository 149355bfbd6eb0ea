// duramen_instructions WORK COUNT: does COUNT times one kind of work, on one thread and nothing else.
//
// To be run under callgrind: with one thread, a clock that stands still and chance that is seeded, the number
// of instructions depends on the code alone, so that it can be compared from one change to the next on any
// machine. The difference between two counts leaves out what starting and stopping cost.

#include "bench/workloads/greeting.hpp"
#include "runtime/node.hpp"
#include "store/local_hub.hpp"
#include "testing/simulation/env.hpp"
#include <duramen/orchestration.hpp>
#include <duramen/registry.hpp>
#include <duramen/sqlite.hpp>
#include <duramen/store.hpp>
#include <duramen/testing/manual_clock.hpp>

#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace {

namespace dm = duramen;

dm::Task<int> chain(dm::OrchestrationContext& ctx, int steps) {
  int done = 0;
  for (int i = 0; i < steps; ++i) done = co_await ctx.schedule_activity<int>("Step", i);
  co_return done;
}

dm::Task<int> timers(dm::OrchestrationContext& ctx, int count) {
  for (int i = 0; i < count; ++i) co_await ctx.schedule_timer(std::chrono::milliseconds{1});
  co_return count;
}

dm::Task<int> events(dm::OrchestrationContext& ctx, int count) {
  for (int i = 0; i < count; ++i) (void)co_await ctx.dequeue_event("jobs");
  co_return count;
}

dm::Task<int> child(dm::OrchestrationContext&, int i) { co_return i; }

dm::Task<int> children(dm::OrchestrationContext& ctx, int count) {
  for (int i = 0; i < count; ++i) (void)co_await ctx.schedule_sub_orchestration<int>("Child", i);
  co_return count;
}

dm::Registry registry() {
  dm::Registry all = bench::greeting_registry();
  all.add("Chain", chain);
  all.add("Timers", timers);
  all.add("Events", events);
  all.add("Children", children);
  all.add("Child", child);
  all.add("Step", [](dm::ActivityContext&, int i) { return i; });
  return all;
}

/// A node on the simulator's Env, which runs only when asked to.
class OneThread {
 public:
  OneThread()
      : store_(dm::sqlite::open_provider({.path = ":memory:", .clock = &clock_}).value()),
        env_(clock_, dm::testing::SeededRandom(1)),
        node_(env_, store_, registry(), options()) {
    node_.run();
    settle();
  }

  /// Returns whether the instance has ended, when nothing is left to do. Sends it `messages`, one by one.
  bool run(const std::string& instance, const std::string& orchestration, dm::Payload input,
           int messages = 0) {
    bool ended = false;
    std::ignore = store_.local_hub()->await_end(
        instance, [&](const auto& end) { ended = end.status == dm::Status::completed; });
    dm::StartRequest request;
    request.instance = instance;
    request.start.orchestration = orchestration;
    request.start.input = std::move(input);
    node_.start(std::move(request), [](const auto&) {});
    for (int tries = 0; !ended && tries < 100'000; ++tries) {
      settle();
      if (messages-- > 0) send(instance);
      clock_.advance(std::chrono::milliseconds{1});  // a thread may take a while to come
    }
    return ended;
  }

 private:
  void send(const std::string& instance) {
    dm::OutboundMessage message;
    message.target = instance;
    message.body = dm::message::QueueMessage{.name = "jobs", .data = dm::Payload::text("job")};
    (void)store_.provider()->enqueue_messages({&message, 1}).value();
  }
  static dm::RuntimeOptions options() {
    dm::RuntimeOptions options;
    options.node = "one";
    options.log = [](const dm::LogRecord&) {};
    return options;
  }
  void settle() {
    while (env_.runnable() > 0) env_.run(0);
  }

  dm::testing::ManualClock clock_;
  dm::Store store_;
  dm::testing::SimulatedEnv env_;
  dm::runtime::Node node_;
};

int usage() {
  std::fputs("usage: duramen_instructions hello|chain|timers|events|children COUNT\n", stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return usage();
  const std::string_view work = argv[1];
  const std::string_view number = argv[2];
  int count = 0;
  if (std::from_chars(number.data(), number.data() + number.size(), count).ec != std::errc{} || count < 1)
    return usage();

  OneThread world;
  if (work == "chain") return world.run("chain", "Chain", dm::encode_payload(count)) ? 0 : 1;
  if (work == "timers") return world.run("timers", "Timers", dm::encode_payload(count)) ? 0 : 1;
  if (work == "events") return world.run("events", "Events", dm::encode_payload(count), count) ? 0 : 1;
  if (work == "children") return world.run("children", "Children", dm::encode_payload(count)) ? 0 : 1;
  if (work != "hello") return usage();
  for (int i = 0; i < count; ++i) {
    if (!world.run("hello-" + std::to_string(1000 + i), "Hello", dm::Payload::text("world"))) return 1;
  }
  return 0;
}
