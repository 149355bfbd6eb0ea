// A runtime and a client on a real store. The test moves the clock.
#pragma once

#include "e2e/test_store.hpp"
#include "support/signal.hpp"
#include "support/temp_dir.hpp"
#include "support/until.hpp"
#include <duramen/client.hpp>
#include <duramen/forwarding_provider.hpp>
#include <duramen/runtime.hpp>
#include <duramen/testing/manual_clock.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace duramen::test {

using namespace std::chrono_literals;

/// Lines that a runtime logged, by level.
class LogBook {
 public:
  [[nodiscard]] LogSink sink() {
    return [this](const LogRecord& record) {
      std::lock_guard lock(mutex_);
      lines_.emplace_back(record.level, std::string(record.message));
    };
  }
  [[nodiscard]] std::size_t count(LogLevel level) const {
    std::lock_guard lock(mutex_);
    std::size_t n = 0;
    for (const auto& [at, line] : lines_) n += at == level ? 1 : 0;
    return n;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<LogLevel, std::string>> lines_;
};

/// Counts calls of the store that have not returned.
class CallsUnderWay final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  [[nodiscard]] bool any() const noexcept { return count_ > 0; }

 private:
  std::optional<Error> before(ProviderCall&) override {
    ++count_;
    return std::nullopt;
  }
  std::optional<Error> after(const ProviderCall&) override {
    --count_;
    return std::nullopt;
  }
  std::atomic<int> count_ = 0;
};

class StoreWorld {
 public:
  StoreWorld() : StoreWorld([](std::shared_ptr<Provider> provider) { return provider; }) {}
  /// All calls of the store go through `wrap`.
  explicit StoreWorld(const std::function<std::shared_ptr<Provider>(std::shared_ptr<Provider>)>& wrap)
      : calls(std::make_shared<CallsUnderWay>(open_test_store(dir, clock))),
        store(wrap(calls)),
        provider(*store.provider()),
        client(store) {}

  Runtime& run(RuntimeOptions options = {}) {
    if (!options.log) options.log = log.sink();
    return *runtimes.emplace_back(std::make_unique<Runtime>(store, registry, std::move(options)));
  }
  /// Waits until `holds`, while `again` moves the clock.
  void until(const std::function<bool()>& holds, const std::function<void()>& again = [] {}) {
    test::until(holds, again);
  }
  void until_later(const std::function<bool()>& holds) {
    until(holds, [this] { pass(100ms); });
  }
  /// Advances the clock unless a call of the store is running: a slow server must not make leases end.
  void pass(Duration time) {
    if (!calls->any()) clock.advance(time);
  }
  /// Waits for the end of an instance and advances the clock.
  InstanceState end_of(const InstanceId& instance) {
    until_later([&] {
      const auto info = client.get_instance(instance);
      return info && is_final(info->status);
    });
    return client.wait(instance, forever).value();
  }
  [[nodiscard]] Status status(const InstanceId& instance) {
    return client.get_instance(instance).value().status;
  }
  /// The number of events of this JSON type in the history.
  [[nodiscard]] std::size_t events(const InstanceId& instance, std::string_view type) {
    std::size_t n = 0;
    for (const Event& event : client.read_history(instance).value()) n += event_type(event) == type ? 1 : 0;
    return n;
  }
  /// The reasons in its history for cancelled activities and children.
  [[nodiscard]] std::vector<CancelReason> reasons(const InstanceId& instance) {
    std::vector<CancelReason> all;
    for (const Event& event : client.read_history(instance).value()) {
      if (const auto* a = std::get_if<event::ActivityCancelRequested>(&event.body)) all.push_back(a->reason);
      if (const auto* c = std::get_if<event::SubOrchestrationCancelRequested>(&event.body))
        all.push_back(c->reason);
    }
    return all;
  }
  /// Waits until the queues of activities and messages are empty.
  void expect_nothing_left() {
    until([&] {
      const QueueDepths depths = provider.get_queue_depths().value();
      return depths.worker_due + depths.worker_later + depths.worker_leased + depths.orchestrator_due +
                 depths.orchestrator_later + depths.orchestrator_leased ==
             0;
    });
  }

  TempDir dir;
  testing::ManualClock clock;
  LogBook log;
  std::shared_ptr<CallsUnderWay> calls;
  Store store;
  Provider& provider;
  Registry registry;
  Client client;
  std::vector<std::unique_ptr<Runtime>> runtimes;
};

/// Activities that wait to be stopped, and the causes they received.
class Waiters {
 public:
  struct Stop {
    std::string instance;
    StopCause cause;
    std::optional<CancelReason> reason;
  };
  /// A coroutine activity that ends when it is asked to.
  void add_to(Registry& registry, const std::string& name) {
    registry.add(name, [this](ActivityContext& ctx, int value) -> ActivityTask<int> {
      began();
      co_await ctx.cancelled();
      stopped({ctx.instance_id().value, ctx.stop_cause(), ctx.cancel_reason()});
      co_return value;
    });
  }
  void began() {
    std::lock_guard lock(mutex_);
    ++begun_;
  }
  void stopped(Stop stop) {
    std::lock_guard lock(mutex_);
    stops_.push_back(std::move(stop));
  }
  [[nodiscard]] std::size_t begun() const {
    std::lock_guard lock(mutex_);
    return begun_;
  }
  [[nodiscard]] std::vector<Stop> stops() const {
    std::lock_guard lock(mutex_);
    return stops_;
  }

 private:
  mutable std::mutex mutex_;
  std::size_t begun_ = 0;
  std::vector<Stop> stops_;
};

}  // namespace duramen::test
