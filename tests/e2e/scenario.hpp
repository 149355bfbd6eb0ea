// The fixture of the scenarios: a world with a few activities, and functions that run an instance to its end.
#pragma once

#include "e2e/store_world.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace duramen::test {

class Scenario : public ::testing::Test {
 protected:
  Scenario() {
    world.registry.add("Double", [this](ActivityContext&, int value) {
      ++runs;
      return 2 * value;
    });
    world.registry.add("Greet", [](ActivityContext&, std::string name) { return "Hello, " + name + "!"; });
    world.registry.add("Fail",
                       [](ActivityContext&, std::string why) -> int { throw std::runtime_error(why); });
    waiters.add_to(world.registry, "Wait");
  }
  /// Short for registry.add().
  template <class F>
  void add(std::string_view name, F f, const OrchestrationOptions& options = {}) {
    world.registry.add(name, std::move(f), options);
  }
  /// Starts an instance and waits for its end; no time passes.
  template <class In>
  InstanceState finish(const InstanceId& instance, std::string_view name, const In& input) {
    world.client.start(instance, name, input).value();
    return world.client.wait(instance, forever).value();
  }
  InstanceState finish(const InstanceId& instance, std::string_view name) {
    world.client.start(instance, name).value();
    return world.client.wait(instance, forever).value();
  }
  /// The same while time passes.
  template <class In>
  InstanceState finish_later(const InstanceId& instance, std::string_view name, const In& input) {
    world.client.start(instance, name, input).value();
    return world.end_of(instance);
  }
  /// Waits until the last event of its history has that type.
  void until_event(const InstanceId& instance, std::string_view type) {
    world.until([&] {
      const auto history = world.client.read_history(instance);
      return history && !history->empty() && event_type(history->back()) == type;
    });
  }
  /// Acts like a process that dies: leases the due instances, does nothing with them, and lets the leases
  /// end. That counts as an attempt.
  void die_with_turns(Duration lease = 10s) {
    TurnFetch fetch;
    fetch.node = "doomed";
    fetch.lease = lease;
    world.until([&] { return !world.provider.fetch_turns(fetch).value().items.empty(); });
    world.clock.advance(lease + 1s);
  }
  void die_with_activities(std::size_t count = 1, Duration lease = 10s) {
    ActivityFetch fetch;
    fetch.node = "doomed";
    fetch.lease = lease;
    std::size_t taken = 0;
    world.until([&] {
      taken += world.provider.fetch_activities(fetch).value().items.size();
      return taken >= count;
    });
    world.clock.advance(lease + 1s);
  }
  /// Sends a message that is a repeat, or should not exist.
  void inject(const InstanceId& instance, MessageBody item) {
    const OutboundMessage message{instance, std::move(item)};
    EXPECT_EQ(world.provider.enqueue_messages({&message, 1}).value().front(), EnqueueOutcome::enqueued);
  }
  /// The first event of that type.
  EventId id_of(const InstanceId& instance, std::string_view type) {
    for (const Event& event : world.client.read_history(instance).value()) {
      if (event_type(event) == type) return event.id;
    }
    ADD_FAILURE() << instance.value << " has no " << type;
    return {};
  }

  std::atomic<int> runs{0};
  Waiters waiters;
  StoreWorld world;
};

}  // namespace duramen::test
