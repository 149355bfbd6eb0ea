// A runtime and a client on a memory store whose clock the test moves.
#pragma once

#include "runtime/world.hpp"
#include <duramen/testing/manual_clock.hpp>

#include <functional>
#include <thread>

namespace duramen::test {

[[nodiscard]] inline RuntimeOptions quiet(RuntimeOptions options = {}) {
  if (!options.log) options.log = [](const LogRecord&) {};
  return options;
}

class ClockedWorld {
 public:
  ClockedWorld() : ClockedWorld([](std::shared_ptr<Provider> inner) { return inner; }) {}
  /// `wrap` stands between all clients and runtimes and the store.
  explicit ClockedWorld(const std::function<std::shared_ptr<Provider>(std::shared_ptr<Provider>)>& wrap)
      : provider(std::make_shared<testing::MemoryProvider>(clock)), store(wrap(provider)), client(store) {}

  Runtime& run(RuntimeOptions options = {}) {
    return *runtimes.emplace_back(std::make_unique<Runtime>(store, registry, quiet(std::move(options))));
  }
  /// Lets the others go on, `again` and again, until it is so. The bound is only there so that a broken test
  /// ends.
  void until(const std::function<bool()>& holds, const std::function<void()>& again = [] {}) {
    const auto end = std::chrono::steady_clock::now() + forever;
    while (!holds()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "it never came to be";
      again();
      std::this_thread::sleep_for(1ms);
    }
  }
  /// Waits for the end of an instance while `again` moves the clock.
  InstanceState wait(const InstanceId& instance, const std::function<void()>& again) {
    until([&] { return is_final(client.get_instance(instance).value().status); }, again);
    if (::testing::Test::HasFatalFailure()) return {};
    return client.wait(instance, forever).value();
  }
  template <class In>
  InstanceState finish(const InstanceId& instance, std::string_view orchestration, const In& input) {
    client.start(instance, orchestration, input).value();
    return client.wait(instance, forever).value();
  }

  testing::ManualClock clock;
  std::shared_ptr<testing::MemoryProvider> provider;
  Store store;
  Registry registry;
  Client client;
  std::vector<std::unique_ptr<Runtime>> runtimes;
};

}  // namespace duramen::test
