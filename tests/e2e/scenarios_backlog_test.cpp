// A backlog of mail: all of it is taken, once and in order. `./dev bench scale` has the full sizes.
#include "e2e/scenario.hpp"

#include <algorithm>

namespace duramen::test {
namespace {

class Backlog : public Scenario {
 protected:
  /// An actor "a" that takes `count` messages, `each` in one execution, and fails at one out of its order.
  /// Before that, `late` executions wait for "go" and take none.
  void add_actor(int count, int each, int late = 0) {
    add("actor", [count, each](OrchestrationContext& ctx, int next) -> Task<std::string> {
      if (next < 0) {
        co_await ctx.schedule_wait("go");
        co_return co_await ctx.continue_as_new(next + 1);
      }
      for (int i = 0; i < each && next < count; ++i, ++next) {
        const std::string job = co_await ctx.dequeue_event("jobs");
        if (std::stoi(job) != next) throw std::runtime_error("took " + job.substr(0, 8));
      }
      if (next < count) co_return co_await ctx.continue_as_new(next);
      co_return "took " + std::to_string(count);
    });
    world.client.start("a", "actor", -late).value();
  }
  /// Sends the messages [from, to) of `bytes` each.
  void post(int from, int to, std::size_t bytes) {
    std::vector<OutboundMessage> messages;
    for (int i = from; i < to; ++i) {
      std::string data = std::to_string(i) + " ";
      data.resize(std::max(bytes, data.size()), 'x');
      messages.push_back({"a", message::QueueMessage{"jobs", Payload::text(std::move(data))}});
    }
    world.provider.enqueue_messages(messages).value();
  }
  std::string end() { return world.client.wait("a", forever).value().output_as<std::string>(); }

  static constexpr std::size_t kibibyte = std::size_t{1} << 10u;
  static constexpr std::size_t mebibyte = std::size_t{1} << 20u;
};

TEST_F(Backlog, OfManySmallMessagesIsTakenInOrder) {
  add_actor(2500, 2500);
  post(0, 2500, kibibyte);
  world.run();
  EXPECT_EQ(end(), "took 2500");
}

TEST_F(Backlog, OfManySmallMessagesIsTakenInOrderOverExecutions) {
  add_actor(2500, 137);
  post(0, 1500, kibibyte);
  world.run();
  post(1500, 2500, kibibyte);
  EXPECT_EQ(end(), "took 2500");
  EXPECT_EQ(world.client.list_executions("a").value().size(), 19u);
}

TEST_F(Backlog, OfLargeMessagesIsTakenInOrder) {
  add_actor(12, 12);
  post(0, 12, 2 * mebibyte);
  world.run();
  EXPECT_EQ(end(), "took 12");
}

TEST_F(Backlog, OfLargeMessagesIsTakenInOrderOverExecutions) {
  add_actor(12, 3);
  post(0, 8, 2 * mebibyte);
  world.run();
  post(8, 12, 2 * mebibyte);
  EXPECT_EQ(end(), "took 12");
  EXPECT_EQ(world.client.list_executions("a").value().size(), 4u);
}

TEST_F(Backlog, ThatEarlierExecutionsDidNotTakeIsTakenInOrder) {
  add_actor(606, 250, 2);
  post(0, 300, kibibyte);
  post(300, 306, 2 * mebibyte);
  world.client.raise_event("a", "go", "").value();
  world.client.raise_event("a", "go", "").value();
  world.run();
  post(306, 606, kibibyte);
  EXPECT_EQ(end(), "took 606");
}

}  // namespace
}  // namespace duramen::test
