// A node that does not have the code of an instance: which cancels it decides.
#include "runtime/clocked_world.hpp"

#include <gmock/gmock.h>

namespace duramen::test {
namespace {

/// The instance "i" ran on a node that is gone. The node that is left does not have its code.
class WithoutItsCode : public ::testing::Test {
 protected:
  // A node that has only activities decides cancels as well.
  WithoutItsCode() {
    world.registry.add("unrelated", [](ActivityContext&) { return 1; });
  }
  void run_elsewhere(const std::string& orchestration, Status until) {
    Runtime gone(world.store, elsewhere, quiet());
    world.client.start("i", orchestration).value();
    world.until([&] { return world.client.get_instance("i").value().status == until; });
    gone.shutdown();
  }
  void send(std::vector<MessageBody> bodies) {
    std::vector<OutboundMessage> messages;
    for (MessageBody& body : bodies) messages.push_back({"i", std::move(body)});
    world.provider->enqueue_messages(messages).value();
  }
  InstanceState end() {
    return world.wait("i", [&] { world.clock.advance(100ms); });
  }
  template <class F>
  void add(const std::string& name, F code, bool graceful) {
    elsewhere.add(name, std::move(code),
                  graceful ? OrchestrationOptions().graceful() : OrchestrationOptions());
  }
  static Task<std::string> waits(OrchestrationContext& ctx) { co_return co_await ctx.schedule_wait("go"); }
  static Task<std::string> continues(OrchestrationContext& ctx) {
    co_return co_await ctx.continue_as_new("", "2.0.0");  // a version that no node has
  }

  Registry elsewhere;
  ClockedWorld world;
};

TEST_F(WithoutItsCode, ACancelBehindOtherMessagesEndsIt) {
  add("plain", waits, false);
  run_elsewhere("plain", Status::running);
  send({message::QueueMessage{"jobs", Payload::text("1")}, message::ExternalRaised{"go", Payload::text("2")},
        message::CancelInstance{"enough"}});
  world.run();
  EXPECT_EQ(end().status, Status::cancelled);
}

TEST_F(WithoutItsCode, ACancelBehindALargeMessageEndsIt) {
  add("plain", waits, false);
  run_elsewhere("plain", Status::running);
  send({message::ExternalRaised{"go", Payload::text(std::string(std::size_t{9} << 20u, 'x'))},
        message::QueueMessage{"jobs", Payload::text("1")}, message::CancelInstance{"enough"}});
  world.run();
  EXPECT_EQ(end().status, Status::cancelled);
}

TEST_F(WithoutItsCode, AGracefulCancelOfGracefulCodeWaitsForTheCodeAndTerminateDoesNot) {
  add("saga", waits, true);
  run_elsewhere("saga", Status::running);
  world.client.cancel("i", "please").value();
  world.run();
  for (int i = 0; i < 20; ++i) world.clock.advance(1s);
  EXPECT_EQ(world.client.get_instance("i").value().status, Status::running);
  EXPECT_TRUE(world.client.cancel("i", "now", CancelMode::terminate).value());
  const InstanceState state = end();
  EXPECT_EQ(state.status, Status::cancelled);
  EXPECT_EQ(state.failure->message, "now");
}

TEST_F(WithoutItsCode, ACancelAfterAContinueAsNewEndsPlainCode) {
  add("plain", continues, false);
  run_elsewhere("plain", Status::continued_as_new);
  world.client.cancel("i", "enough").value();
  world.run();
  EXPECT_EQ(end().status, Status::cancelled);
  EXPECT_THAT(event_types(world.client, "i"),
              ::testing::ElementsAre("OrchestrationStarted", "OrchestrationFailed"));
}

TEST_F(WithoutItsCode, ACancelAfterAContinueAsNewOfGracefulCodeMustBeTerminate) {
  add("saga", continues, true);
  run_elsewhere("saga", Status::continued_as_new);
  world.client.cancel("i", "please").value();
  world.run();
  for (int i = 0; i < 20; ++i) world.clock.advance(1s);
  EXPECT_EQ(world.client.get_instance("i").value().status, Status::continued_as_new);
  world.client.cancel("i", "now", CancelMode::terminate).value();
  EXPECT_EQ(end().status, Status::cancelled);
}

TEST_F(WithoutItsCode, ASecondCancelIsMarkedAsRepeated) {
  add("saga", waits, true);
  run_elsewhere("saga", Status::running);
  const CancelAnswer first = world.client.cancel("i", "please").value();
  EXPECT_TRUE(first && !first.repeated);
  const CancelAnswer second = world.client.cancel("i", "again").value();
  EXPECT_TRUE(second && second.repeated);
  world.run();
  world.client.cancel("i", "now", CancelMode::terminate).value();
  EXPECT_EQ(end().status, Status::cancelled);
}

}  // namespace
}  // namespace duramen::test
