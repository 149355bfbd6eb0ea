// Testing an orchestration: weeks pass in milliseconds, with a clock that the test moves and crashes that a
// seed decides. Any test framework works; this file uses none.
#include "invoice.hpp"

#include <duramen/client.hpp>
#include <duramen/runtime.hpp>
#include <duramen/testing/manual_clock.hpp>
#include <duramen/testing/memory_provider.hpp>
#include <duramen/testing/simulation.hpp>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <mutex>
#include <thread>

namespace dm = duramen;
using namespace std::chrono_literals;

void check(bool holds, const std::string& what) {
  std::cout << (holds ? "ok      " : "FAILED  ") << what << std::endl;
  if (!holds) std::exit(EXIT_FAILURE);
}

// [clock]
/// A runtime on a store in memory, whose clock stands still until the test moves it.
struct World {
  dm::testing::ManualClock clock;
  dm::Store store{std::make_shared<dm::testing::MemoryProvider>(clock)};
  dm::Client client{store};

  /// Lets days pass until a condition is true, but not while an activity runs: a day is longer than any
  /// lease, so the store would consider its node dead and run the activity again.
  void let_days_pass_until(const std::function<bool()>& so) {
    while (!so()) {
      const dm::QueueDepths now = client.queue_depths().value();
      const bool only_timers =
          now.orchestrator_due + now.orchestrator_leased + now.worker_due + now.worker_leased == 0;
      if (only_timers) clock.advance(24h);
      std::this_thread::sleep_for(1ms);
    }
  }
};

void test_with_a_clock() {
  World world;
  std::mutex mutex;
  std::vector<std::string> mails;
  dm::Registry registry;
  registry.add("invoice", invoice);
  registry.add(Mail, [&](dm::ActivityContext&, std::string text) {
    const std::lock_guard lock(mutex);
    mails.push_back(text);
  });
  dm::Runtime runtime{world.store, registry};

  world.client.start("ann", "invoice", "Ann").value();
  const auto has_ended = [&] { return is_final(world.client.get_instance("ann").value().status); };
  world.let_days_pass_until(has_ended);
  check(world.client.wait("ann", 1s).value().output_as<std::string>() == "to the lawyer",
        "nobody pays, nobody waits");
  check(mails == std::vector<std::string>{"reminder 1 to Ann", "reminder 2 to Ann"},
        "two reminders, in order");
  check(world.clock.now() - dm::testing::ManualClock().now() >= std::chrono::days{14},
        "two weeks have passed");

  world.client.start("ben", "invoice", "Ben").value();
  world.client.raise_event("ben", "paid", "").value();
  check(world.client.wait("ben", 30s).value().output_as<std::string>() == "paid after 0 reminders",
        "Ben pays at once");
}
// [/clock]

// [simulation]
/// The same code through crashes and faults. Each seed is another run, and a failing one can be repeated.
void test_with_the_simulator() {
  for (const std::uint64_t seed : dm::testing::simulation_seeds(1, 50)) {
    dm::Registry registry;
    registry.add("invoice", invoice);
    registry.add(Mail, [](dm::ActivityContext&, std::string) {});

    dm::testing::SimulationOptions options{.seed = seed, .nodes = 2, .crash_rate = 0.05, .fault_rate = 0.05};
    // A node polls and renews its leases every few seconds; in two weeks that would be most of the work.
    options.runtime.poll_interval = options.runtime.sweep_interval = options.runtime.slow_turn = 6h;
    options.runtime.activity_lease = options.runtime.session_lease = 6h;
    dm::testing::Simulation simulation(registry, options);
    simulation.start("ann", "invoice", "Ann");
    simulation.start("ben", "invoice", "Ben");
    simulation.cancel("ben", "changed his mind", 24h * 10);
    const dm::testing::SimulationReport report = simulation.run();
    if (!report.ok()) check(false, report.describe());
    if (simulation.instance("ann")->status != dm::Status::completed)
      check(false, "Ann's invoice did not end");
    if (simulation.instance("ben")->status != dm::Status::cancelled)
      check(false, "Ben's invoice was not cancelled");
  }
  check(true, "fifty seeds of crashes and lost answers");
}
// [/simulation]

int main() {
  test_with_a_clock();
  test_with_the_simulator();
}
