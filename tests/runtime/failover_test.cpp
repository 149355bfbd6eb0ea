// A store that has lost its last commits, as after a failover to a replica that was behind: a resident that
// ran on them is not used.
#include "runtime/clocked_world.hpp"
#include <duramen/forwarding_provider.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <mutex>

namespace duramen::test {
namespace {

/// Stores every commit in two stores until the second one falls behind. After the failover there is only the
/// second one.
class Replicated final : public ForwardingProvider {
 public:
  Replicated(std::shared_ptr<Provider> primary, std::shared_ptr<Provider> replica)
      : ForwardingProvider(std::move(primary)), replica_(std::move(replica)) {}
  std::atomic<bool> behind{false};
  std::atomic<bool> failed_over{false};
  std::atomic<bool> pausing{false};

  Result<TurnBatch> fetch_turns(const TurnFetch& request) override {
    if (pausing) return TurnBatch{};
    return failed_over ? replica_->fetch_turns(request) : ForwardingProvider::fetch_turns(request);
  }
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    if (failed_over) return replica_->commit_turns(commits, preempt);
    if (!behind) {
      if (auto copied = replica_->commit_turns(commits, {}); !copied) return copied;
    }
    return ForwardingProvider::commit_turns(commits, preempt);
  }
  std::vector<Result<std::vector<Event>>> read_histories(std::span<const HistoryRequest> requests) override {
    return failed_over ? replica_->read_histories(requests) : ForwardingProvider::read_histories(requests);
  }
  Result<std::vector<EnqueueOutcome>> enqueue_messages(std::span<const OutboundMessage> messages) override {
    return failed_over ? replica_->enqueue_messages(messages)
                       : ForwardingProvider::enqueue_messages(messages);
  }
  Result<void> release_turns(std::span<const TurnRelease> items) override {
    return failed_over ? replica_->release_turns(items) : ForwardingProvider::release_turns(items);
  }
  Result<std::optional<InstanceInfo>> get_instance(const InstanceId& instance) override {
    return failed_over ? replica_->get_instance(instance) : ForwardingProvider::get_instance(instance);
  }

 private:
  std::shared_ptr<Provider> replica_;
};

class Failover : public ::testing::Test {
 protected:
  Failover()
      : world([this](std::shared_ptr<Provider> inner) {
          replica = std::make_shared<testing::MemoryProvider>(clock);
          auto wrapped = std::make_shared<Replicated>(std::move(inner), replica);
          store = wrapped.get();
          return wrapped;
        }) {
    world.registry.add("waits", [](OrchestrationContext& ctx, int count) -> Task<std::string> {
      std::string got;
      for (int i = 0; i < count; ++i) got += co_await ctx.schedule_wait("go") + " ";
      co_return got;
    });
  }
  void raise(Provider& where, const std::string& data) {
    const OutboundMessage go{"i", message::ExternalRaised{"go", Payload::text(data)}};
    where.enqueue_messages({&go, 1}).value();
  }
  void settle(Provider& where, std::uint64_t last_event) {
    world.until([&] { return where.get_instance("i").value()->last_event_id == EventId{last_event}; });
  }
  /// A resident has run on an event that only the primary holds. Another node continues on the replica.
  void fail_over(int count, const std::vector<std::string>& kept) {
    world.run();
    world.client.start("i", "waits", count).value();
    settle(*world.provider, 2);
    store->behind = true;
    raise(*store, "lost");
    settle(*world.provider, 4);
    store->pausing = true;
    store->failed_over = true;
    Store direct(replica);
    Runtime other(direct, world.registry, quiet());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      raise(*replica, kept[i]);
      settle(*replica, 4 + 2 * i);
    }
    other.shutdown();
    store->pausing = false;
  }
  /// The result of the instance, and what its history says.
  void expect_end(const std::string& result) {
    std::optional<InstanceInfo> end;
    world.until(
        [&] {
          end = replica->get_instance("i").value();
          return is_final(end->status);
        },
        [&] { world.clock.advance(100ms); });
    ASSERT_TRUE(end->output) << end->failure->describe();
    EXPECT_EQ(decode_payload<std::string>(*end->output), result);
    std::string recorded;
    for (const Event& event : replica->read_history("i", ExecutionId{1}, {}).value()) {
      if (const auto* raised = std::get_if<event::ExternalEvent>(&event.body))
        recorded += raised->data.data + " ";
    }
    EXPECT_EQ(recorded, result);
  }

  testing::ManualClock clock;
  std::shared_ptr<testing::MemoryProvider> replica;
  Replicated* store = nullptr;
  ClockedWorld world;
};

TEST_F(Failover, AResidentOfTheSameLengthThatRanOnLostEventsIsDiscarded) {
  fail_over(2, {"kept"});
  raise(*store, "second");
  expect_end("kept second ");
}

TEST_F(Failover, AResidentThatRanOnLostEventsDoesNotCatchUp) {
  fail_over(3, {"kept", "also"});
  raise(*store, "third");
  expect_end("kept also third ");
}

}  // namespace
}  // namespace duramen::test
