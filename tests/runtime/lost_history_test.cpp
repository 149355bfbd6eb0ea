// A store that has lost events of an instance: no message for it is swallowed.
#include "runtime/clocked_world.hpp"
#include <duramen/forwarding_provider.hpp>

#include <gmock/gmock.h>

#include <atomic>

namespace duramen::test {
namespace {

using ::testing::HasSubstr;

/// Has lost every event.
class Lossy final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::atomic<bool> lost{false};
  std::atomic<int> reads{0};

  Result<std::vector<Event>> read_history(const InstanceId& instance, ExecutionId execution,
                                          EventId after) override {
    auto history = ForwardingProvider::read_history(instance, execution, after);
    if (lost && history) history->clear();
    ++reads;
    return history;
  }
};

class LostHistory : public ::testing::Test {
 protected:
  LostHistory()
      : world([this](std::shared_ptr<Provider> inner) {
          auto wrapped = std::make_shared<Lossy>(std::move(inner));
          store = wrapped.get();
          return wrapped;
        }) {
    world.registry.add("wait", [](OrchestrationContext& ctx) -> Task<int> {
      co_return co_await ctx.schedule_wait<int>("go");
    });
  }
  /// An instance waits, its events are lost, and a message comes for it.
  void lose(std::uint32_t max_attempts) {
    RuntimeOptions options;
    options.max_resident_instances = 1;  // so that its history is needed
    options.max_attempts = max_attempts;
    world.run(options);
    for (const char* id : {"i", "other"}) world.client.start(id, "wait").value();
    store->lost = true;
    const OutboundMessage go{"i", message::ExternalRaised{"go", Payload::json("7")}};
    world.provider->enqueue_messages({&go, 1}).value();
  }
  [[nodiscard]] std::size_t messages() {
    return world.provider->list_pending_work("i").value().messages.size();
  }

  Lossy* store = nullptr;
  ClockedWorld world;
};

TEST_F(LostHistory, AMessageForAnInstanceWhoseEventsAreLostIsKeptUntilTheyAreBack) {
  lose(10);
  world.until([&] { return store->reads > 1 || messages() == 0; }, [&] { world.clock.advance(100ms); });
  ASSERT_EQ(messages(), 1u) << "swallowed";
  store->lost = false;
  world.until([&] { return messages() == 0; }, [&] { world.clock.advance(100ms); });
  EXPECT_EQ(world.client.wait("i", forever).value().output_as<int>(), 7);
}

TEST_F(LostHistory, AnInstanceWhoseEventsAreLostFailsAndNamesThem) {
  lose(2);
  const InstanceState state = world.wait("i", [&] { world.clock.advance(100ms); });
  ASSERT_TRUE(state.failure);
  EXPECT_EQ(state.failure->type, "UnreadableHistory");
  EXPECT_THAT(state.failure->message, HasSubstr("the events after 0 are missing; the last one stored was 2"));
}

}  // namespace
}  // namespace duramen::test
