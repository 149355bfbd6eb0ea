// The visible state of an instance, and recorded values.

#include "core/harness.hpp"
#include "core/world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>

namespace duramen::core_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;

// -- custom status ------------------------------------------------------------------------------------------

TEST(CustomStatus, TheLastOneOfATurnIsVisible) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    ctx.set_custom_status("first");
    ctx.set_custom_status("second");
    co_await ctx.schedule_activity("A", "");
    auto seen = ctx.get_custom_status().value_or("none");
    ctx.reset_custom_status();
    co_return seen;
  }};
  instance.start();
  EXPECT_EQ(instance.turn().custom_status, CustomStatusChange{"second"});
  instance.complete("A", "");
  EXPECT_EQ(instance.turn().custom_status, CustomStatusChange{std::nullopt});
  EXPECT_EQ(instance.output(), "second");
}

TEST(CustomStatus, ItsTextIsNotComparedOnReplay) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    ctx.set_custom_status("working");
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  instance.deploy([](Context& ctx) -> Task<std::string> {
    ctx.set_custom_status("now in other words");
    co_return co_await ctx.schedule_activity("A", "");
  });
  instance.complete("A", "a");
  EXPECT_EQ(instance.output(), "a");
}

TEST(CustomStatus, TooLongATextIsRefusedWhereItIsSet) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    ctx.set_custom_status(std::string(max_custom_status_bytes, 'x'));
    try {
      ctx.set_custom_status(std::string(max_custom_status_bytes + 1, 'x'));
    } catch (const LimitError& error) {
      co_return error.failure().message;
    }
    co_return "accepted";
  }};
  instance.start();
  EXPECT_THAT(instance.output(), HasSubstr(std::to_string(max_custom_status_bytes)));
}

TEST(CustomStatus, GoesAlongOverContinueAsNew) {
  World world;
  world.add("subject", [](Context& ctx, std::string input) -> Task<std::string> {
    if (!input.empty()) co_return ctx.get_custom_status().value_or("none");
    ctx.set_custom_status("half way");
    co_return co_await ctx.continue_as_new("x");
  });
  world.start("one", "subject");
  EXPECT_EQ(world.at("one").output(), "half way");
}

TEST(CustomStatus, AFrameThatIsTornDownSetsNothingAndThrowsNothing) {
  struct Guard {
    Context& ctx;
    ~Guard() {
      ctx.set_custom_status(std::string(max_custom_status_bytes + 1, 'x'));
      ctx.set_kv_value("key", std::string(max_key_value_bytes + 1, 'x'));
    }
  };
  Instance instance{[](Context& ctx) -> Task<std::string> {
    const Guard guard{ctx};
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  instance.cancel();
  EXPECT_EQ(instance.turn().custom_status, std::nullopt);
  EXPECT_THAT(instance.turn().key_values, IsEmpty());
}

// -- key-values ---------------------------------------------------------------------------------------------

TEST(KeyValueStore, AReadSeesTheWriteBeforeItAndReplaysTheSame) {
  Instance instance{[](Context& ctx) -> Task<int> {
    for (int i = 0; i < 5; ++i) {
      ctx.set_kv_value("n", ctx.get_kv_value<int>("n").value_or(0) + 1);
      co_await ctx.schedule_activity("Step", "");
    }
    co_return *ctx.get_kv_value<int>("n");
  }};
  instance.start();
  for (int i = 0; i < 5; ++i) instance.complete("Step", "");
  EXPECT_EQ(instance.output<int>(), 5);
  EXPECT_THAT(instance.events<event::KeyValueSet>(), SizeIs(5));
}

TEST(KeyValueStore, AnExecutionBeginsWithTheKeysOfEarlierOnes) {
  World world;
  world.add("subject", [](Context& ctx, std::string input) -> Task<int> {
    ctx.set_kv_value("n", ctx.get_kv_value<int>("n").value_or(0) + 1);
    co_await ctx.schedule_activity("Step", "");
    ctx.set_kv_value("n", ctx.get_kv_value<int>("n").value_or(0) + 1);
    if (input.size() < 3) co_return co_await ctx.continue_as_new(input + "x");
    co_return *ctx.get_kv_value<int>("n");
  });
  world.start("one", "subject");
  for (int i = 0; i < 4; ++i) world.act("one", [](Instance& instance) { instance.complete("Step", ""); });
  EXPECT_EQ(world.at("one").output<int>(), 8);
  EXPECT_EQ(world.key_values("one").at("n").value.data, "8");
}

TEST(KeyValueStore, KeysOfAllTurnsAndEarlierExecutionsAreCounted) {
  core::ExecutionOptions options;
  for (std::size_t i = 0; i < max_keys - 2; ++i) {
    options.key_values["old" + std::to_string(i)] = {Payload::text("x"), {}};
  }
  Instance instance{[](Context& ctx) -> Task<std::string> {
                      ctx.set_kv_value("a", 1);
                      co_await ctx.schedule_activity("A", "");
                      ctx.set_kv_value("b", 1);
                      ctx.set_kv_value("a", 2);  // not a new key
                      std::string refused;
                      try {
                        ctx.set_kv_value("c", 1);
                      } catch (const LimitError&) {
                        refused = "refused";
                      }
                      ctx.clear_kv_value("old0");
                      ctx.set_kv_value("c", 1);
                      co_return refused;
                    },
                    Mode::every_way, options};
  instance.start();
  instance.complete("A", "");
  EXPECT_EQ(instance.output(), "refused");
}

TEST(KeyValueStore, TooLongAValueIsRefused) {
  Instance instance{[](Context& ctx) -> Task<void> {
    ctx.set_kv_value("a", std::string(max_key_value_bytes, 'x'));
    ctx.set_kv_value("a", std::string(max_key_value_bytes + 1, 'x'));
    co_return;
  }};
  instance.start();
  EXPECT_EQ(instance.status(), Status::failed);
  EXPECT_EQ(instance.failure().kind, FailureKind::limit);
}

// The reference iterates a hash map: the order, and so what is scheduled by it, differs from replay to
// replay.
TEST(KeyValueStore, IterationIsByKey) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    for (const char* key : {"m", "z", "a", "k"}) ctx.set_kv_value(key, key);
    std::string all;
    for (const auto& [key, entry] : ctx.get_kv_all_values())
      all += co_await ctx.schedule_activity("Use", key);
    co_return all;
  }};
  instance.start();
  for (const char* key : {"a", "k", "m", "z"}) instance.complete("Use", key);
  EXPECT_EQ(instance.output(), "akmz");
}

// The reference compares stamps taken anew on each replay: what was pruned once may not be pruned again.
TEST(KeyValueStore, PruningGoesByTheRecordedTime) {
  Instance instance{[](Context& ctx) -> Task<int> {
    ctx.set_kv_value("old", 1);
    auto before = co_await ctx.utc_now();
    co_await ctx.schedule_timer(10s);
    ctx.set_kv_value("new", 1);
    auto pruned = ctx.prune_kv_values_updated_before(before + 1s);
    co_await ctx.schedule_activity("A", "");
    co_return static_cast<int>(pruned * 10 + ctx.get_kv_all_values().size());
  }};
  instance.start();
  instance.fire("10000ms");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("timer 10000ms fired", "new set: 1", "old cleared", "A scheduled"));
  instance.advance(1h);
  instance.complete("A", "");
  EXPECT_EQ(instance.output<int>(), 11);
}

TEST(KeyValueStore, ChangesLeaveInCallOrder) {
  Instance instance{[](Context& ctx) -> Task<void> {
    ctx.set_kv_value("a", 1);
    ctx.clear_all_kv_values();
    ctx.set_kv_value("b", 2);
    ctx.clear_kv_value("b");
    co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  const auto& changes = instance.turn().key_values;
  ASSERT_THAT(changes, SizeIs(4));
  EXPECT_EQ(changes[0].key, "a");
  EXPECT_EQ(changes[1].key, std::nullopt);
  EXPECT_EQ(changes[2].value, encode_payload(2));
  EXPECT_EQ(changes[3].value, std::nullopt);
  instance.complete("A", "");
  EXPECT_THAT(instance.turn().key_values, IsEmpty());
}

// -- recorded values and traces -----------------------------------------------------------------------------

TEST(RecordedValues, AreTheSameOnReplayAndNoWorkersBusiness) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto first = co_await ctx.new_guid();
    auto second = co_await ctx.new_guid();
    auto now = co_await ctx.utc_now();
    co_await ctx.schedule_activity("A", "");
    co_return first + " " + second + " " + std::to_string(to_unix_ms(now));
  }};
  instance.start();
  EXPECT_THAT(instance.sent(), ElementsAre("A"));
  EXPECT_THAT(instance.turn().cancelled_activities, IsEmpty());
  const auto recorded = instance.events<event::ActivityCompleted>();
  ASSERT_THAT(recorded, SizeIs(3));
  const auto text = [&](std::size_t i) {
    return std::get<event::ActivityCompleted>(recorded[i].body).result.data;
  };
  EXPECT_NE(text(0), text(1));
  EXPECT_THAT(text(0), MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  instance.set_entropy(99);
  instance.advance(1h);
  instance.complete("A", "");
  EXPECT_EQ(instance.output(), text(0) + " " + text(1) + " 1000000");
}

TEST(RecordedValues, ComeInTheMiddleOfASegment) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto a = ctx.schedule_activity("A", "").start();
    co_await ctx.utc_now();
    auto b = ctx.schedule_activity("B", "").start();
    auto x = co_await b;
    co_return x + co_await a;
  }};
  instance.start();
  EXPECT_THAT(instance.turn().segments, SizeIs(1));
  instance.complete("A", "a");
  instance.complete("B", "b");
  EXPECT_EQ(instance.output(), "ba");
}

// In the reference the segment woken by the last recorded completion runs again with the replay flag off, and
// its traces appear twice.
TEST(Traces, AppearOnceAndInOrder) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    ctx.trace_info("one");
    co_await ctx.schedule_activity("A", "");
    ctx.trace_warning("two");
    co_await ctx.schedule_activity("B", "");
    ctx.trace_error("three");
    co_return "";
  }};
  const auto texts = [&instance] {
    std::vector<std::string> lines;
    for (const core::TraceLine& line : instance.turn().traces) lines.push_back(line.text);
    return lines;
  };
  instance.start();
  EXPECT_THAT(texts(), ElementsAre("one"));
  instance.complete("A", "");
  EXPECT_THAT(texts(), ElementsAre("two"));
  instance.complete("A", "");
  EXPECT_THAT(texts(), IsEmpty());
  instance.complete("B", "");
  EXPECT_THAT(texts(), ElementsAre("three"));
}

// The actions and traces of a segment that the engine stopped are discarded.
TEST(Traces, OfASegmentThatIsTornDownDoNotLeave) {
  core::ExecutionOptions limits;
  limits.max_actions_per_turn = 2;
  Instance instance{[](Context& ctx) -> Task<std::string> {
                      ctx.trace_info("begins");
                      co_await ctx.schedule_activity("A", "");
                      while (true) {
                        ctx.trace_info("again");
                        co_await ctx.utc_now();
                      }
                    },
                    Mode::every_way, limits};
  instance.deliver(
      {instance.started(), message::ActivityCompleted{ExecutionId{1}, EventId{2}, Payload::text("a")}});
  ASSERT_EQ(instance.failure().kind, FailureKind::limit);
  ASSERT_THAT(instance.turn().traces, SizeIs(1));
  EXPECT_EQ(instance.turn().traces.front().text, "begins");
}

// In the reference a "GUID" is the clock and a small counter, so that nodes can make the same one.
TEST(RecordedValues, GuidsDependOnTheTurnsEntropyAndOnTheirPlace) {
  const auto guids_with = [](std::uint64_t entropy) {
    Instance instance{[](Context& ctx) -> Task<std::string> {
      auto first = co_await ctx.new_guid();
      auto second = co_await ctx.new_guid();
      co_return first + second;
    }};
    instance.set_entropy(entropy);
    instance.start();
    return instance.output();
  };
  EXPECT_EQ(guids_with(1), guids_with(1));
  EXPECT_NE(guids_with(1), guids_with(2));
  EXPECT_NE(guids_with(1).substr(0, 36), guids_with(1).substr(36));
}

// Found by invented programs: the second of two segments in one batch had another value than when it was run
// alone.
TEST(RecordedValues, DoNotDependOnTheBatch) {
  const auto code = [](Context& ctx) -> Task<std::string> {
    auto first = co_await ctx.new_guid();
    auto go = co_await ctx.schedule_wait("go");
    co_return first + go + co_await ctx.new_guid();
  };
  Instance apart{code};
  apart.start();
  apart.raise("go", "!");
  Instance together{code};
  together.deliver({together.started(), Instance::raising("go", "!")});
  EXPECT_EQ(apart.output(), together.output());
}

}  // namespace
}  // namespace duramen::core_test
