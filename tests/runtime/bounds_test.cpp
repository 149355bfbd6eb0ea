// How large what code hands over may be: failures have a bound, payloads an option.
#include "runtime/clocked_world.hpp"
#include <duramen/forwarding_provider.hpp>
#include <duramen/json.hpp>
#include <duramen/limits.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
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

/// Holds the first ends back until all activities have ended.
class Ends final : public ForwardingProvider {
 public:
  static constexpr int activities = 128;
  using ForwardingProvider::ForwardingProvider;
  Result<std::vector<AckResult>> ack_activities(std::span<const ActivityAck> acks) override {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, forever, [&] { return ended_ == activities; });
      most_ = std::max(most_, acks.size());
    }
    return ForwardingProvider::ack_activities(acks);
  }
  void end_one() {
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }
  std::size_t most() {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int ended_ = 0;
  std::size_t most_ = 0;
};

TEST(FailureBounds, ABatchOfFailuresHasAboutEightMebibytes) {
  std::shared_ptr<Ends> ends;
  ClockedWorld world{[&](auto inner) { return ends = std::make_shared<Ends>(std::move(inner)); }};
  world.registry.add("calls", [](OrchestrationContext& ctx) -> Task<int> {
    std::vector<DurableFuture<int>> all;
    for (int i = 0; i < Ends::activities; ++i) all.push_back(ctx.schedule_activity<int>("Fail").start());
    for (auto& one : all) (void)co_await std::move(one).as_result();
    co_return 1;
  });
  // A node without orchestrations stores its ends without turns.
  Registry worker;
  worker.add("Fail", [&](ActivityContext& ctx) -> ActivityTask<int> {
    ctx.heartbeat(std::string(max_retry_details_bytes, 'x'));
    ends->end_one();
    throw std::runtime_error(std::string(max_failure_bytes, 'x'));
    co_return 1;
  });
  RuntimeOptions options;
  options.max_activities = Ends::activities;
  const Runtime works(world.store, worker, quiet(options));
  world.run();
  world.client.start("a", "calls").value();
  world.wait("a", [&] { world.clock.advance(10ms); });
  EXPECT_LE(ends->most(), 66u);
}

TEST(FailureBounds, DetailsThatAreTooLargeForARetryAreDroppedWhereTheAttemptEnds) {
  World world;
  std::atomic<int> tries = 0;
  std::atomic<bool> received = false;
  world.registry.add("Fail", [&](ActivityContext& ctx) -> int {
    if (++tries == 2) {
      received = ctx.heartbeat_details<std::string>().has_value();
      return 1;
    }
    ctx.heartbeat(std::string(max_retry_details_bytes + 1, 'x'));
    throw ApplicationError("Hiccup", "again", true);
  });
  world.registry.add("calls", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Fail").with_retry(
        RetryPolicy().attempts(2).backoff(Backoff::none()));
  });
  std::mutex mutex;
  std::vector<std::string> warnings;
  RuntimeOptions options;
  options.log = [&](const LogRecord& record) {
    const std::lock_guard lock(mutex);
    if (record.level == LogLevel::warning) warnings.emplace_back(record.message);
  };
  world.run(options);
  EXPECT_EQ(world.finish("i", "calls", std::monostate{}).status, Status::completed);
  EXPECT_FALSE(received);
  world.runtimes.clear();
  EXPECT_THAT(warnings, ::testing::ElementsAre(HasSubstr("too large for a retry")));
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
