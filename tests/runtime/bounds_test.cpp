// How large what code hands over may be: failures have a bound, payloads an option.
#include "runtime/world.hpp"
#include <duramen/json.hpp>

#include <gmock/gmock.h>

#include <stdexcept>
#include <string>

namespace duramen::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::size_t huge = 200'000;

TEST(FailureBounds, AHugeMessageIsCutWhereTheActivityEnds) {
  World world;
  // Three bytes for each character, and one more before them, so that a cut falls into a character.
  std::string text = "x";
  while (text.size() < huge) text += "\xE2\x82\xAC";
  world.registry.add("Fail", [&](ActivityContext&) -> int { throw std::runtime_error(text); });
  world.registry.add("call", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Fail");
  });
  world.run();
  const InstanceState state = world.finish("i", "call", std::monostate{});
  const std::string& message = state.failure.value().message;
  EXPECT_LE(message.size(), max_failure_bytes);
  EXPECT_GT(message.size(), max_failure_bytes - 100);
  EXPECT_THAT(message, StartsWith("x\xE2\x82\xAC"));
  EXPECT_THAT(message, EndsWith("\xE2\x82\xAC... (cut: it had " + std::to_string(text.size()) + " bytes)"));
  for (const Event& event : world.client.read_history("i").value()) {
    if (const auto* failed = std::get_if<event::ActivityFailed>(&event.body)) {
      EXPECT_EQ(failed->details.message, message);
    }
  }
}

TEST(FailureBounds, HugeDetailsAreReplacedSoThatTheyStayJson) {
  World world;
  const std::string details = "{\"log\":\"" + std::string(huge, 'x') + "\"}";
  world.registry.add("fails", [&](OrchestrationContext&) -> Task<int> {
    throw ApplicationError(std::string(5000, 'T'), "it failed", false, details);
    co_return 1;
  });
  world.run();
  const Failure failure = world.finish("i", "fails", std::monostate{}).failure.value();
  EXPECT_EQ(failure.message, "it failed");
  EXPECT_EQ(failure.type.size(), max_name_bytes);
  EXPECT_EQ(failure.details, "{\"omitted\":\"the details had " + std::to_string(details.size()) +
                                 " bytes; a failure stores at most 65536\"}");
}

TEST(FailureBounds, AFailureWithinTheBoundsIsStoredUnchanged) {
  World world;
  const std::string details = "[\"" + std::string(max_failure_bytes - 4, 'd') + "\"]";
  world.registry.add("fails", [&](OrchestrationContext&) -> Task<int> {
    throw ApplicationError("Type", std::string(max_failure_bytes, 'm'), false, details);
    co_return 1;
  });
  world.run();
  const Failure failure = world.finish("i", "fails", std::monostate{}).failure.value();
  EXPECT_EQ(failure.message, std::string(max_failure_bytes, 'm'));
  EXPECT_EQ(failure.details, details);
}

// -- payloads ------------------------------------------

class PayloadBounds : public ::testing::Test {
 protected:
  PayloadBounds() {
    world.registry.add("Echo", [](ActivityContext&, std::string text) { return text; });
    world.registry.add("Twice", [](ActivityContext&, std::string text) { return text + text; });
    world.registry.add("echo", [](OrchestrationContext& ctx, std::string text) -> Task<std::string> {
      co_return co_await ctx.schedule_activity("Echo", text);
    });
    world.registry.add("twice", [](OrchestrationContext& ctx, std::string text) -> Task<std::string> {
      co_return co_await ctx.schedule_activity("Twice", text);
    });
    world.registry.add("tell", [](OrchestrationContext& ctx, std::string text) -> Task<std::string> {
      const std::string event = co_await ctx.schedule_wait("go");
      co_return event + (co_await ctx.schedule_activity("Echo", event + text)).substr(0, 1);
    });
  }

  World world;
};

TEST_F(PayloadBounds, ALargerPayloadTravelsOnceTheLimitIsRaisedWhereTheErrorSays) {
  const std::string large(default_payload_limit + 1, 'x');
  const auto refused = world.client.start("i", "echo", large);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("raise max_payload_bytes (RuntimeOptions, ClientOptions)"));

  RuntimeOptions options;
  options.max_payload_bytes = 2 * default_payload_limit;
  world.run(options);
  Client client(world.store, {.max_payload_bytes = 2 * default_payload_limit});
  client.start("i", "echo", large).value();
  EXPECT_EQ(client.wait("i", forever).value().output_as<std::string>(), large);
  client.start("t", "tell", "").value();
  client.raise_event("t", "go", large).value();
  EXPECT_EQ(client.wait("t", forever).value().output_as<std::string>(), large + "x");
}

TEST_F(PayloadBounds, TheOptionCanLowerTheLimit) {
  RuntimeOptions options;
  options.max_payload_bytes = 1000;
  world.run(options);
  EXPECT_EQ(world.finish("fits", "twice", std::string(500, 'x')).status, Status::completed);
  const InstanceState result = world.finish("result", "twice", std::string(501, 'x'));
  EXPECT_EQ(result.failure.value().kind, FailureKind::limit);
  const InstanceState input = world.finish("input", "echo", std::string(1001, 'x'));
  EXPECT_EQ(input.failure.value().kind, FailureKind::limit);
  Client client(world.store, {.max_payload_bytes = 10});
  EXPECT_EQ(client.start("i", "echo", std::string(11, 'x')).error().code, ErrorCode::limit_exceeded);
}

// Its kind was `application`, and code could not distinguish it from a failure of its own.
TEST_F(PayloadBounds, HeartbeatDetailsThatAreTooLargeAreALimit) {
  world.registry.add("Beat", [](ActivityContext& ctx, int bytes) {
    ctx.heartbeat(std::string(static_cast<std::size_t>(bytes), 'x'));
    return 1;
  });
  world.registry.add("beat", [](OrchestrationContext& ctx, int bytes) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Beat", bytes);
  });
  RuntimeOptions options;
  options.max_payload_bytes = 1000;
  world.run(options);
  EXPECT_EQ(world.finish("fits", "beat", 1000).status, Status::completed);
  EXPECT_EQ(world.finish("too large", "beat", 1001).failure.value().kind, FailureKind::limit);
}

TEST_F(PayloadBounds, ALimitOfZeroOrAboveTheCeilingIsRefused) {
  for (const std::size_t wrong : {std::size_t{0}, payload_ceiling + 1}) {
    RuntimeOptions options;
    options.max_payload_bytes = wrong;
    EXPECT_THROW(world.run(options), std::invalid_argument);
    EXPECT_THROW(Client(world.store, {.max_payload_bytes = wrong}), std::invalid_argument);
  }
}

}  // namespace
}  // namespace duramen::test
