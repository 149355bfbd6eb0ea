// An instance with much mail: all of it is taken, once and in order.
#include "runtime/world.hpp"
#include <duramen/forwarding_provider.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>

namespace duramen::test {
namespace {

void post(World& world, const InstanceId& instance, int count, std::size_t bytes) {
  std::vector<OutboundMessage> messages;
  for (int i = 0; i < count; ++i) {
    std::string data = std::to_string(i) + " ";
    data.resize(std::max(bytes, data.size()), 'x');
    messages.push_back({instance, message::QueueMessage{"jobs", Payload::text(std::move(data))}});
  }
  world.provider->enqueue_messages(messages).value();
}

/// Takes `count` messages, `each` in one execution; fails at the first that is not the next one.
struct Actor {
  int count = 0;
  int each = 0;

  Task<std::string> operator()(OrchestrationContext& ctx, int next) const {
    for (int i = 0; i < each && next < count; ++i, ++next) {
      const std::string job = co_await ctx.dequeue_event("jobs");
      if (std::stoi(job) != next) throw std::runtime_error("took " + job.substr(0, 8));
    }
    if (next < count) co_return co_await ctx.continue_as_new(next);
    co_return "took " + std::to_string(count);
  }
};

TEST(MuchMail, ElevenThousandMessagesDoNotEndAnActor) {
  World world;
  world.registry.add("actor", Actor{11'000, 11'000});
  world.client.start("a", "actor", 0).value();
  post(world, "a", 11'000, 0);
  world.run();
  EXPECT_EQ(world.client.wait("a", forever).value().output_as<std::string>(), "took 11000");
}

TEST(MuchMail, EachExecutionTakesItsPartAndLeavesTheRestInTheQueue) {
  World world;
  world.registry.add("actor", Actor{5000, 137});
  world.client.start("a", "actor", 0).value();
  post(world, "a", 5000, 1024);
  world.run();
  EXPECT_EQ(world.client.wait("a", forever).value().output_as<std::string>(), "took 5000");
  EXPECT_EQ(world.client.list_executions("a").value().size(), 37u);
}

TEST(MuchMail, UnclaimedMailBeyondEightMebibytesIsPutBackAndTakenInOrder) {
  World world;
  world.registry.add("actor", [](OrchestrationContext& ctx, int executions) -> Task<std::string> {
    if (executions > 0) {
      // All mail has arrived before this, and none of it is claimed.
      co_await ctx.schedule_wait("go");
      co_return co_await ctx.continue_as_new(executions - 1);
    }
    for (int next = 0; next < 24; ++next) {
      const std::string job = co_await ctx.dequeue_event("jobs");
      if (std::stoi(job) != next) throw std::runtime_error("took " + job.substr(0, 8));
    }
    co_return "took 24";
  });
  world.client.start("a", "actor", 2).value();
  post(world, "a", 24, std::size_t{1} << 20u);
  for (int i = 0; i < 2; ++i) world.client.raise_event("a", "go", "").value();
  world.run();
  EXPECT_EQ(world.client.wait("a", forever).value().output_as<std::string>(), "took 24");
  std::size_t carried = 0;
  for (const ExecutionInfo& execution : world.client.list_executions("a").value()) {
    const std::vector<Event> history = world.client.read_history("a", execution.execution).value();
    carried = 0;
    for (const CarriedEvent& mail : std::get<event::OrchestrationStarted>(history.front().body).carry_forward)
      carried += mail.data.data.size();
    EXPECT_LE(carried, std::size_t{8} << 20u);
  }
  EXPECT_GT(carried, std::size_t{6} << 20u);
}

/// Remembers the largest batch of commits.
class Batches final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::atomic<std::size_t> most{0};

  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    most = std::max(most.load(), commits.size());
    return ForwardingProvider::commit_turns(commits, preempt);
  }
};

TEST(MuchMail, ABatchOfCommitsHasAboutEightMebibytes) {
  const auto memory = std::make_shared<testing::MemoryProvider>(system_clock());
  const auto batches = std::make_shared<Batches>(memory);
  Store store(batches);
  Registry registry;
  registry.add("returns", [](OrchestrationContext&, std::string) -> Task<int> { co_return 1; });
  std::vector<StartRequest> starts;
  for (int i = 0; i < 40; ++i) {
    StartRequest& start = starts.emplace_back();
    start.instance = InstanceId("i" + std::to_string(i));
    start.start.orchestration = "returns";
    start.start.input = Payload::text(std::string(std::size_t{1} << 20u, 'x'));
  }
  memory->start_instances(starts).value();
  RuntimeOptions options;
  options.log = [](const LogRecord&) {};
  Runtime runtime(store, registry, options);
  Client client(store);
  for (const StartRequest& start : starts) {
    EXPECT_EQ(client.wait(start.instance, forever).value().status, Status::completed);
  }
  EXPECT_LE(batches->most, 4u);
}

TEST(MuchMail, ALoopThatContinuesAsNewWithoutWaitingCanBeCancelled) {
  for (const bool graceful : {false, true}) {
    World world;
    world.registry.add(
        "spins", [](OrchestrationContext& ctx) -> Task<int> { co_return co_await ctx.continue_as_new(""); },
        graceful ? OrchestrationOptions().graceful() : OrchestrationOptions());
    world.run();
    world.client.start("a", "spins").value();
    EXPECT_TRUE(world.client.cancel("a", "enough").value());
    const InstanceState end = world.client.wait("a", forever).value();
    EXPECT_EQ(end.status, Status::cancelled);
    EXPECT_EQ(end.failure->message, "enough");
  }
}

}  // namespace
}  // namespace duramen::test
