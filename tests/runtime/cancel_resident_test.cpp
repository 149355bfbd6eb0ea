// A cancel in the process where the instance is resident: one commit instead of two, with the same
// outcome.
#include "runtime/world.hpp"
#include <duramen/forwarding_provider.hpp>

#include <atomic>
#include <latch>
#include <mutex>
#include <semaphore>
#include <stop_token>

namespace duramen::test {
namespace {

/// Counts changes of instances, and hands out no messages while `withhold` is set.
class Watched final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::atomic<int> requests{0};
  std::atomic<int> commits{0};
  std::atomic<bool> withhold{false};
  std::atomic<bool> linger{false};  ///< over a batch, until it is preempted
  Signal<bool> lingers;
  std::atomic<std::size_t> left_out{0};
  std::atomic<bool> untidy{false};  ///< maintenance lasts until it is preempted, and blocks all calls
  Signal<bool> tidies;

  Result<std::vector<EnqueueOutcome>> enqueue_messages(std::span<const OutboundMessage> messages) override {
    ++requests;
    return ForwardingProvider::enqueue_messages(messages);
  }
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> turns,
                                                 const std::stop_token& preempt) override {
    ++commits;
    const std::lock_guard alone(maintaining_);
    if (linger && turns.size() > 1) {
      lingers.set(true);
      wait_for(preempt);
      linger = false;
    }
    auto answers = ForwardingProvider::commit_turns(turns, preempt);
    if (answers) left_out += turns.size() - answers->size();
    return answers;
  }
  Result<TurnBatch> fetch_turns(const TurnFetch& request) override {
    if (withhold) return TurnBatch{};
    return ForwardingProvider::fetch_turns(request);
  }
  bool wants_maintenance() const noexcept override { return untidy; }
  void maintain(const std::stop_token& preempt) noexcept override {
    const std::lock_guard alone(maintaining_);
    untidy = false;
    tidies.set(true);
    wait_for(preempt);
  }

 private:
  void wait_for(const std::stop_token& preempt) {
    std::binary_semaphore preempted{0};
    const std::stop_callback go_on{preempt, [&] { preempted.release(); }};
    if (!preempted.try_acquire_for(60s)) ADD_FAILURE() << "the call was not preempted";
  }

  std::mutex maintaining_;
};

StartRequest start_of(const std::string& instance, const char* orchestration) {
  StartRequest request;
  request.instance = instance;
  request.start.orchestration = orchestration;
  return request;
}

class CancelResident : public ::testing::Test {
 protected:
  void SetUp() override {
    registry.add("Wait", [this](ActivityContext& ctx) -> ActivityTask<int> {
      begun.set(true);
      co_await ctx.cancelled();
      stopped.set(ctx.cancel_reason());
      co_return 0;
    });
    registry.add("wait", [](OrchestrationContext& ctx) -> Task<int> {
      co_return co_await ctx.schedule_activity<int>("Wait", std::monostate{});
    });
    registry.add("approval", [](OrchestrationContext& ctx) -> Task<std::string> {
      co_return co_await ctx.schedule_wait<std::string>("approved");
    });
    registry.add("slow", [this](OrchestrationContext&) -> Task<int> {
      entered.count_down();
      go_on.wait();
      co_return 0;
    });
  }
  Runtime run() {
    RuntimeOptions options;
    options.log = [](const LogRecord&) {};
    options.poll_interval = 5ms;
    return Runtime(store, registry, options);
  }

  std::shared_ptr<Watched> provider =
      std::make_shared<Watched>(std::make_shared<testing::MemoryProvider>(system_clock()));
  Store store{provider};
  Registry registry;
  Client client{store};
  Signal<bool> begun;
  Signal<std::optional<CancelReason>> stopped;
  std::latch entered{1};  ///< the turn of "slow" holds up the loop from here
  std::latch go_on{1};    ///< to there
};

TEST_F(CancelResident, TheRequestAndTheTurnItCausesAreOneCommit) {
  const Runtime runtime = run();
  client.start("a", "wait").value();
  ASSERT_TRUE(begun.wait());
  const int before = provider->commits;
  EXPECT_TRUE(client.cancel("a", "not needed").value());
  EXPECT_EQ(provider->requests, 0);
  EXPECT_EQ(provider->commits - before, 1);
  // It is decided when the call returns.
  const auto info = client.get_instance("a").value();
  EXPECT_EQ(info.status, Status::cancelled);
  EXPECT_EQ(info.failure->message, "not needed");
  EXPECT_EQ(stopped.wait(), CancelReason::orchestration_terminal_cancelled);
}

TEST_F(CancelResident, ACancelDoesNotOvertakeAnEarlierEvent) {
  const Runtime runtime = run();
  client.start("a", "approval").value();
  provider->withhold = true;
  client.raise_event("a", "approved", std::string("yes")).value();
  EXPECT_TRUE(client.cancel("a", "took too long").value());
  provider->withhold = false;
  const InstanceState end = client.wait("a", forever).value();
  EXPECT_EQ(end.status, Status::completed);
  EXPECT_EQ(end.output_as<std::string>(), "yes");
}

TEST_F(CancelResident, ACallbackOfTheRuntimeMayCancel) {
  const Runtime runtime = run();
  Signal<bool> cancelled;
  client.start_async(start_of("a", "wait"), [&](const Result<StartOutcome>& outcome) {
    cancelled.set(outcome && client.cancel("a", "at once").value());
  });
  EXPECT_EQ(cancelled.wait(), true);
  EXPECT_EQ(client.wait("a", forever).value().status, Status::cancelled);
}

TEST_F(CancelResident, ATurnThatBlocksTheRuntimeDoesNotBlockTheCaller) {
  const Runtime runtime = run();
  client.start("a", "wait").value();
  ASSERT_TRUE(begun.wait());
  client.start_async(start_of("slow", "slow"), [](const Result<StartOutcome>&) {});
  entered.wait();
  EXPECT_TRUE(client.cancel("a", "not needed").value());
  EXPECT_EQ(provider->requests, 1);
  go_on.count_down();
  EXPECT_EQ(client.wait("a", forever).value().status, Status::cancelled);
  EXPECT_EQ(client.wait("slow", forever).value().status, Status::completed);
}

TEST_F(CancelResident, ABatchThatIsBeingStoredIsCutShortAndItsRestIsStoredLater) {
  std::atomic<int> greetings{0};
  registry.add("Greet", [&](ActivityContext&) -> ActivityTask<int> { co_return ++greetings; });
  registry.add("greet", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Greet", std::monostate{});
  });
  const Runtime runtime = run();
  client.start("a", "wait").value();
  ASSERT_TRUE(begun.wait());
  provider->linger = true;
  // Starts that come while the loop is busy end up in one batch.
  client.start_async(start_of("slow", "slow"), [](const Result<StartOutcome>&) {});
  entered.wait();
  constexpr int others = 50;
  for (int i = 0; i < others; ++i) {
    client.start_async(start_of(std::to_string(i), "greet"), [](const Result<StartOutcome>&) {});
  }
  go_on.count_down();
  ASSERT_TRUE(provider->lingers.wait());
  EXPECT_TRUE(client.cancel("a", "not needed").value());
  EXPECT_EQ(client.get_instance("a").value().status, Status::cancelled);
  EXPECT_EQ(stopped.wait(), CancelReason::orchestration_terminal_cancelled);
  for (int i = 0; i < others; ++i) {
    EXPECT_EQ(client.wait(std::to_string(i), forever).value().status, Status::completed);
  }
  EXPECT_GT(provider->left_out, 0u);
  EXPECT_EQ(greetings, others);
}

TEST_F(CancelResident, ACancelPreemptsTheMaintenanceOfTheStore) {
  const Runtime runtime = run();
  client.start("a", "wait").value();
  ASSERT_TRUE(begun.wait());
  provider->untidy = true;
  client.start_async(start_of("b", "approval"), [](const Result<StartOutcome>&) {});
  ASSERT_TRUE(provider->tidies.wait());
  // Meanwhile a turn of another instance is to be stored: the loop must not block on it.
  client.start_async(start_of("c", "approval"), [](const Result<StartOutcome>&) {});
  EXPECT_TRUE(client.cancel("a", "not needed").value());
  EXPECT_EQ(client.get_instance("a").value().status, Status::cancelled);
  EXPECT_TRUE(client.cancel("b", "").value());
  EXPECT_TRUE(client.cancel("c", "").value());
}

TEST_F(CancelResident, ASecondCancelDoesNotChangeAGracefulOne) {
  Signal<bool> compensating;
  registry.add("Undo", [&](ActivityContext& ctx) -> ActivityTask<int> {
    compensating.set(true);
    co_await ctx.cancelled();
    co_return 0;
  });
  registry.add(
      "trip",
      [](OrchestrationContext& ctx) -> Task<int> {
        auto booked = co_await attempt(ctx.schedule_activity<int>("Wait", std::monostate{}));
        const auto undo = [](OrchestrationContext& c) -> Task<int> {
          co_return co_await c.schedule_activity<int>("Undo", std::monostate{});
        };
        co_await ctx.shield(1h, undo(ctx));
        co_return 0;
      },
      OrchestrationOptions().graceful());
  const Runtime runtime = run();
  client.start("a", "trip").value();
  ASSERT_TRUE(begun.wait());
  EXPECT_TRUE(client.cancel("a", "stay at home").value());
  ASSERT_TRUE(compensating.wait());
  const std::size_t events = client.read_history("a").value().size();
  const int commits = provider->commits;
  EXPECT_TRUE(client.cancel("a", "really").value());
  EXPECT_EQ(provider->requests, 1) << "the store knows whether the cancel is a stronger one";
  EXPECT_EQ(provider->commits, commits);
  EXPECT_EQ(client.get_instance("a").value().status, Status::cancelling);
  EXPECT_EQ(client.read_history("a").value().size(), events);
  EXPECT_TRUE(client.cancel("a", "now", CancelMode::terminate).value());
  EXPECT_EQ(client.wait("a", forever).value().status, Status::cancelled);
}

TEST_F(CancelResident, WithTwoRuntimesInTheProcessTheStoreFindsTheRightOne) {
  const Runtime one = run();
  const Runtime two = run();
  client.start("a", "wait").value();
  ASSERT_TRUE(begun.wait());
  EXPECT_TRUE(client.cancel("a", "not needed").value());
  EXPECT_EQ(provider->requests, 1);
  EXPECT_EQ(client.wait("a", forever).value().status, Status::cancelled);
  EXPECT_EQ(stopped.wait(), CancelReason::orchestration_terminal_cancelled);
}

}  // namespace
}  // namespace duramen::test
