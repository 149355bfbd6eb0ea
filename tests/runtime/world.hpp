// A runtime and a client on a memory store, with real threads.
#pragma once

#include "support/signal.hpp"
#include <duramen/client.hpp>
#include <duramen/runtime.hpp>
#include <duramen/testing/memory_provider.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace duramen::test {

using namespace std::chrono_literals;

class World {
 public:
  World()
      : provider(std::make_shared<testing::MemoryProvider>(system_clock())), store(provider), client(store) {}

  Runtime& run(RuntimeOptions options = {}) {
    if (!options.log) options.log = [](const LogRecord&) {};
    return *runtimes.emplace_back(std::make_unique<Runtime>(store, registry, std::move(options)));
  }
  /// Starts an instance and waits for its end.
  template <class In>
  InstanceState finish(const InstanceId& instance, std::string_view orchestration, const In& input) {
    client.start(instance, orchestration, input).value();
    return client.wait(instance, forever).value();
  }

  std::shared_ptr<testing::MemoryProvider> provider;
  Store store;
  Registry registry;
  Client client;
  std::vector<std::unique_ptr<Runtime>> runtimes;
};

/// The JSON types of an instance's events.
inline std::vector<std::string> event_types(Client& client, const InstanceId& instance) {
  std::vector<std::string> types;
  for (const Event& event : client.read_history(instance).value()) types.emplace_back(event_type(event));
  return types;
}

}  // namespace duramen::test
