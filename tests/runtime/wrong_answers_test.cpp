// A provider that answers more or fewer entries than it was given: an error, never a read past the end.
#include "runtime/clocked_world.hpp"
#include <duramen/forwarding_provider.hpp>

#include <gmock/gmock.h>

#include <atomic>

namespace duramen::test {
namespace {

using ::testing::HasSubstr;

/// Leaves out its answers to one call.
class Forgetful final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::atomic<bool> forgets{false};
  std::atomic<int> forgotten{0};

  Result<std::vector<StartOutcome>> start_instances(std::span<const StartRequest> requests) override {
    return without_answers(ForwardingProvider::start_instances(requests));
  }
  Result<std::vector<EnqueueOutcome>> enqueue_messages(std::span<const OutboundMessage> messages) override {
    return without_answers(ForwardingProvider::enqueue_messages(messages));
  }
  std::vector<Result<std::vector<Event>>> read_histories(std::span<const HistoryRequest> requests) override {
    auto answers = ForwardingProvider::read_histories(requests);
    if (forgets) {
      ++forgotten;
      answers.clear();
    }
    return answers;
  }
  Result<std::vector<RenewResult>> renew_activities(std::span<const ActivityRenewal> leases,
                                                    Duration extend) override {
    return without_answers(ForwardingProvider::renew_activities(leases, extend));
  }
  Result<std::vector<DeleteResult>> delete_instances(std::span<const InstanceId> instances,
                                                     DeleteMode mode) override {
    return without_answers(ForwardingProvider::delete_instances(instances, mode));
  }
  Result<std::vector<PruneResult>> prune_executions(std::span<const InstanceId> instances,
                                                    const PruneOptions& options) override {
    return without_answers(ForwardingProvider::prune_executions(instances, options));
  }

 private:
  template <class T>
  Result<std::vector<T>> without_answers(Result<std::vector<T>> answers) {
    if (!forgets || !answers) return answers;
    ++forgotten;
    return std::vector<T>{};
  }
};

class WrongAnswers : public ::testing::Test {
 protected:
  WrongAnswers()
      : world([this](std::shared_ptr<Provider> inner) {
          auto wrapped = std::make_shared<Forgetful>(std::move(inner));
          store = wrapped.get();
          return wrapped;
        }) {
    world.registry.add("wait", [](OrchestrationContext& ctx) -> Task<int> {
      co_return co_await ctx.schedule_wait<int>("go");
    });
  }

  Forgetful* store = nullptr;
  ClockedWorld world;
};

TEST_F(WrongAnswers, AClientReturnsAnErrorThatNamesTheProvider) {
  world.client.start("old", "wait").value();
  store->forgets = true;
  InstanceFilter all;
  all.id_prefix = "";
  all.statuses = {Status::pending};
  PruneOptions last;
  last.keep_last = 1;
  const auto expect = [](const char* call, const auto& result) {
    ASSERT_FALSE(result) << call;
    EXPECT_EQ(result.error().code, ErrorCode::internal) << call;
    EXPECT_THAT(result.error().message, HasSubstr("the provider returned 0 answers for 1 entries")) << call;
  };
  expect("start", world.client.start("i", "wait"));
  expect("raise_event", world.client.raise_event("i", "go", 1));
  expect("cancel", world.client.cancel("i", "enough"));
  expect("cancel_instances",
         world.client.cancel_instances(all, "enough", CancelMode::graceful, {.limit = 1}));
  expect("delete_instance", world.client.delete_instance("i", DeleteMode::force));
  expect("prune_executions", world.client.prune_executions(InstanceId("i"), last));
  expect("prune_executions of many", world.client.prune_executions(all, last, {.limit = 1}));
  expect("delete_instances", world.client.delete_instances(all, DeleteMode::force, {.limit = 1}));
}

TEST_F(WrongAnswers, ARuntimeThatReadsNoHistoryRetriesAndFailsNoInstance) {
  RuntimeOptions options;
  options.max_resident_instances = 1;  // so that its history is needed
  options.max_attempts = 2;
  world.run(options);
  for (const char* id : {"i", "other"}) world.client.start(id, "wait").value();
  store->forgets = true;
  const OutboundMessage go{"i", message::ExternalRaised{"go", Payload::json("7")}};
  world.provider->enqueue_messages({&go, 1}).value();
  // More often than an instance may be handed out.
  world.until([&] { return store->forgotten > 4; }, [&] { world.clock.advance(100ms); });
  store->forgets = false;
  const InstanceState state = world.wait("i", [&] { world.clock.advance(100ms); });
  EXPECT_EQ(state.output_as<int>(), 7);
}

TEST_F(WrongAnswers, ALeaseWhoseRenewalHasNoAnswerIsKeptAndRenewedAgain) {
  Signal<bool> begun;
  Signal<bool> go_on;
  std::atomic<int> attempts{0};
  world.registry.add("Long", [&](ActivityContext&) {
    ++attempts;
    begun.set(true);
    (void)go_on.wait();
    return 3;
  });
  world.registry.add("long", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Long");
  });
  RuntimeOptions options;
  options.activity_lease = 10s;
  world.run(options);
  world.client.start("l", "long").value();
  ASSERT_TRUE(begun.wait());
  store->forgets = true;
  world.clock.advance(4s);
  world.until([&] { return store->forgotten > 0; });
  store->forgets = false;
  go_on.set(true);
  EXPECT_EQ(world.client.wait("l", forever).value().output_as<int>(), 3);
  EXPECT_EQ(attempts, 1);
}

}  // namespace
}  // namespace duramen::test
