// A call that waits for the runtime while the runtime waits for the caller: it returns an error that names
// the mistake, and the node continues.
#include "runtime/world.hpp"
#include <duramen/forwarding_provider.hpp>

#include <gmock/gmock.h>

#include <atomic>

namespace duramen::test {
namespace {

using ::testing::HasSubstr;

class WaitingOnTheLoop : public ::testing::Test {
 protected:
  WaitingOnTheLoop() {
    world.registry.add("one", [](OrchestrationContext&) -> Task<int> { co_return 1; });
  }
  /// The node still works.
  void expect_alive() {
    const auto state = world.client.wait("after", 0s);
    ASSERT_FALSE(state);
    world.client.start("after", "one").value();
    EXPECT_EQ(world.client.wait("after", forever).value().output_as<int>(), 1);
  }
  static void expect_named(const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_THAT(error.message, HasSubstr("was called on a thread of a runtime of the same store"));
    EXPECT_THAT(error.message, HasSubstr("start_async"));
  }

  World world;
};

TEST_F(WaitingOnTheLoop, AnOrchestrationThatCallsAClientGetsAnErrorAndTheNodeContinues) {
  Signal<std::vector<Error>> errors;
  world.registry.add("careless", [this, &errors](OrchestrationContext& ctx) -> Task<int> {
    // Only bound so that a broken test ends.
    std::vector<Error> seen;
    const auto note = [&seen](const auto& result) {
      if (!result) seen.push_back(result.error());
    };
    note(world.client.wait("careless", 100ms));
    note(world.client.wait_for_status_change("careless", 0, 100ms));
    note(world.client.wait_for_key_value("careless", "key", 100ms));
    if (seen.size() == 3 && seen.front().code == ErrorCode::invalid_argument)
      note(world.client.start("x", "one"));
    errors.set(seen);
    co_return co_await ctx.schedule_wait<int>("never");
  });
  world.run();
  world.client.start("careless", "careless").value();
  const auto seen = errors.wait();
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->size(), 4u);
  for (const Error& error : *seen) expect_named(error);
  expect_alive();
}

TEST_F(WaitingOnTheLoop, ALogSinkThatCallsAClientGetsAnErrorAndTheNodeContinues) {
  Signal<Error> error;
  world.registry.add("says", [](OrchestrationContext& ctx) -> Task<int> {
    ctx.trace_info("hello");
    co_return 1;
  });
  RuntimeOptions options;
  options.log = [&](const LogRecord& record) {
    if (record.source != LogSource::orchestration) return;
    const auto state = world.client.wait("says", 100ms);
    if (!state) error.set(state.error());
  };
  world.run(options);
  world.client.start("says", "says").value();
  const auto seen = error.wait();
  ASSERT_TRUE(seen);
  expect_named(*seen);
  expect_alive();
}

// Log records that go through another store were refused, though nothing there waits for this runtime.
TEST_F(WaitingOnTheLoop, ALogSinkMayCallAClientOfAnotherStore) {
  World other;
  other.registry.add("one", [](OrchestrationContext&) -> Task<int> { co_return 1; });
  other.run();
  Signal<Result<InstanceState>> state;
  world.registry.add("says", [](OrchestrationContext& ctx) -> Task<int> {
    ctx.trace_info("hello");
    co_return 1;
  });
  RuntimeOptions options;
  options.log = [&](const LogRecord& record) {
    if (record.source != LogSource::orchestration) return;
    const auto started = other.client.start("from the sink", "one");
    state.set(started ? other.client.wait("from the sink", forever) : started.error());
  };
  world.run(options);
  world.client.start("says", "says").value();
  const auto seen = state.wait();
  ASSERT_TRUE(seen);
  ASSERT_TRUE(*seen) << seen->error().describe();
  EXPECT_EQ((*seen)->output_as<int>(), 1);
  expect_alive();
}

TEST_F(WaitingOnTheLoop, ASecondHandleOfTheStoreIsTheSameStore) {
  Client second{Store{world.provider}};
  Signal<Error> error;
  world.registry.add("careless", [&](OrchestrationContext&) -> Task<int> {
    const auto state = second.wait("careless", 100ms);
    error.set(state ? Error{} : state.error());
    co_return 1;
  });
  world.run();
  world.client.start("careless", "careless").value();
  const auto seen = error.wait();
  ASSERT_TRUE(seen);
  expect_named(*seen);
}

TEST_F(WaitingOnTheLoop, ACallbackOnTheStoreThreadGetsAnErrorAsWell) {
  Signal<Error> error;
  world.registry.add("waits", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_wait<int>("never");
  });
  world.run();
  world.client.start("here", "waits").value();
  StartRequest again;  // of an instance that the runtime has in memory: the store decides
  again.instance = "here";
  again.start.orchestration = "waits";
  again.start.input = Payload::none();
  world.client.start_async(std::move(again), [&](const Result<StartOutcome>& /*outcome*/) {
    const auto state = world.client.wait("here", 100ms);
    error.set(state ? Error{} : state.error());
  });
  const auto seen = error.wait();
  ASSERT_TRUE(seen);
  expect_named(*seen);
  expect_alive();
}

TEST_F(WaitingOnTheLoop, ACallbackOfAClientWithoutARuntimeMustNotWaitForThatClient) {
  Signal<Error> error;
  StartRequest request;
  request.instance = "i";
  request.start.orchestration = "one";
  request.start.input = Payload::none();
  world.client.start_async(std::move(request), [&](const Result<StartOutcome>& /*outcome*/) {
    const auto state = world.client.wait("i", 100ms);
    error.set(state ? Error{} : state.error());
  });
  const auto seen = error.wait();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->code, ErrorCode::invalid_argument);
  EXPECT_THAT(seen->message, HasSubstr("in a callback of this client"));
}

// A wait kept the thread of all coroutine activities. An instance that needed one of them never ended.
TEST_F(WaitingOnTheLoop, ACoroutineActivityThatWaitsGetsAnErrorAndTheOthersContinue) {
  Signal<std::vector<Error>> errors;
  world.registry.add("Careless", [this, &errors](ActivityContext&) -> ActivityTask<int> {
    std::vector<Error> seen;
    const auto note = [&seen](const auto& result) { seen.push_back(result ? Error{} : result.error()); };
    note(world.client.wait("above", 100ms));
    note(world.client.wait_for_status_change("above", 0, 100ms));
    note(world.client.wait_for_key_value("above", "key", 100ms));
    errors.set(seen);
    co_return 1;
  });
  world.registry.add("above", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Careless");
  });
  world.run();
  EXPECT_EQ(world.finish("above", "above", std::monostate{}).output_as<int>(), 1);
  const auto seen = errors.wait();
  ASSERT_TRUE(seen);
  for (const Error& error : *seen) {
    EXPECT_EQ(error.code, ErrorCode::invalid_argument) << error.describe();
    EXPECT_THAT(error.message, HasSubstr("was called in a coroutine activity"));
    EXPECT_THAT(error.message, HasSubstr("wait_async"));
  }
}

TEST_F(WaitingOnTheLoop, AFunctionActivityMayWaitAndACoroutineMayStart) {
  world.registry.add("Starts", [this](ActivityContext&) {
    world.client.start("below", "one").value();
    return world.client.wait("below", forever).value().output_as<int>();
  });
  world.registry.add("StartsToo", [this](ActivityContext&) -> ActivityTask<int> {
    co_return world.client.start("below too", "one").value() == StartOutcome::created ? 1 : 0;
  });
  world.registry.add("above", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Starts") +
        co_await ctx.schedule_activity<int>("StartsToo");
  });
  world.run();
  EXPECT_EQ(world.finish("above", "above", std::monostate{}).output_as<int>(), 2);
}

}  // namespace
}  // namespace duramen::test
