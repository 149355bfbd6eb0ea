// The visible state of an instance: custom status, key-values, their limits, and their lifetime.
#include "e2e/scenario.hpp"
#include <duramen/json.hpp>

namespace duramen::test {
namespace {

using Visible = Scenario;

std::optional<std::string> custom_status(Client& client, const InstanceId& id) {
  return client.get_instance(id).value().custom_status;
}

// -- custom status ------------------------------------------

TEST_F(Visible, AStatusIsVisibleAfterEveryKindOfEndAndAbsentIfNeverSet) {
  add("status", [](OrchestrationContext& ctx, std::string how) -> Task<int> {
    if (how != "none") ctx.set_custom_status("working");
    if (how == "reset") ctx.reset_custom_status();
    if (how == "fail") throw std::runtime_error("on purpose");
    co_return 1;
  });
  world.run();
  for (const char* how : {"complete", "fail", "none", "reset"}) finish(how, "status", std::string(how));
  EXPECT_EQ(custom_status(world.client, "complete"), "working");
  EXPECT_EQ(custom_status(world.client, "fail"), "working");
  EXPECT_EQ(custom_status(world.client, "none"), std::nullopt);
  EXPECT_EQ(custom_status(world.client, "reset"), std::nullopt);
}

TEST_F(Visible, TheLastStatusOfATurnCountsAndEachTurnThatChangesItIsAVersion) {
  add("turns", [](OrchestrationContext& ctx) -> Task<std::string> {
    ctx.set_custom_status("a");
    ctx.set_custom_status("b");
    co_await ctx.schedule_wait<int>("go");
    const std::string kept = ctx.get_custom_status().value_or("lost");
    co_await ctx.schedule_wait<int>("go");  // a turn that changes nothing
    ctx.set_custom_status("c");
    co_await ctx.schedule_wait<int>("go");
    co_return kept;
  });
  RuntimeOptions options;
  options.max_resident_instances = 1;
  world.run(options);
  world.client.start("t", "turns").value();
  InstanceInfo info = world.client.wait_for_status_change("t", 0, forever).value();
  EXPECT_EQ(info.custom_status, "b");
  const std::uint64_t first = info.custom_status_version;
  for (int i = 0; i < 2; ++i) world.client.raise_event("t", "go", 1).value();
  info = world.client.wait_for_status_change("t", first, forever).value();
  EXPECT_EQ(info.custom_status, "c");
  EXPECT_EQ(info.custom_status_version, first + 1);
  world.client.raise_event("t", "go", 1).value();
  EXPECT_EQ(world.client.wait("t", forever).value().output_as<std::string>(), "b");
}

TEST_F(Visible, AStatusGoesAlongOverContinueAsNewAndCanBeResetThere) {
  add("carry", [](OrchestrationContext& ctx, int round) -> Task<std::string> {
    if (round == 1) {
      ctx.set_custom_status("first");
      co_return co_await ctx.continue_as_new(2);
    }
    const std::string carried = ctx.get_custom_status().value_or("lost");
    if (round == 2) co_return co_await ctx.continue_as_new(3);
    ctx.reset_custom_status();
    co_return carried;
  });
  world.run();
  EXPECT_EQ(finish("c", "carry", 1).output_as<std::string>(), "first");
  EXPECT_EQ(custom_status(world.client, "c"), std::nullopt);
}

TEST_F(Visible, LimitsAreExactCanBeCaughtAndOtherwiseFailTheInstance) {
  add("long", [](OrchestrationContext& ctx, int extra) -> Task<std::string> {
    std::string status(max_custom_status_bytes + static_cast<std::size_t>(extra), 'x');
    ctx.set_custom_status(std::move(status));
    ctx.set_kv_value("k", std::string(max_key_value_bytes, 'x'));
    for (int i = 1; i < static_cast<int>(max_keys); ++i) ctx.set_kv_value("k" + std::to_string(i), i);
    co_await ctx.schedule_activity<int>("Double", 1);
    std::string caught;
    try {
      ctx.set_kv_value("k", std::string(max_key_value_bytes + 1, 'x'));
    } catch (const LimitError&) {
      caught += "value ";
    }
    try {
      ctx.set_kv_value("one more", 1);  // counted over all turns
    } catch (const LimitError&) {
      caught += "key ";
    }
    co_return caught;
  });
  world.run();
  EXPECT_EQ(finish("exact", "long", 0).output_as<std::string>(), "value key ");
  EXPECT_EQ(world.client.get_key_values("exact").value().size(), max_keys);
  const InstanceState failed = finish("over", "long", 1);
  EXPECT_EQ(failed.status, Status::failed);
  EXPECT_EQ(failed.failure->kind, FailureKind::limit);
}

TEST_F(Visible, AChildThatBreaksALimitAnswersItsParent) {
  add("child", [](OrchestrationContext& ctx, std::string what) -> Task<int> {
    if (what == "status") ctx.set_custom_status(std::string(max_custom_status_bytes + 1, 'x'));
    if (what == "value") ctx.set_kv_value("k", std::string(max_key_value_bytes + 1, 'x'));
    if (what == "tag") co_await ctx.schedule_activity<int>("Double", 1).with_tag(std::string(257, 't'));
    if (what == "actions") {
      for (int i = 0; i < 200; ++i) ctx.schedule_activity<int>("Wait", i).detach();
    }
    const std::string large(default_payload_limit + 1, 'x');
    if (what == "input") co_await ctx.schedule_activity<int>("Double", large);
    if (what == "child") co_await ctx.schedule_sub_orchestration<int>("child", large);
    if (what == "detached") ctx.schedule_orchestration("child", "free", large);
    if (what == "continued") co_return co_await ctx.continue_as_new(large);
    co_return 1;
  });
  add("parent", [](OrchestrationContext& ctx, std::string what) -> Task<std::string> {
    auto answer =
        co_await ctx.schedule_sub_orchestration<int>("child", what, ChildOptions().id("child-" + what))
            .as_result();
    co_return answer ? "worked" : std::string(to_string(answer.error().kind));
  });
  RuntimeOptions options;
  options.max_actions_per_turn = 100;
  world.run(options);
  for (const char* what : {"status", "value", "tag", "actions", "input", "child", "detached", "continued"}) {
    EXPECT_EQ(finish(what, "parent", std::string(what)).output_as<std::string>(), "limit") << what;
    EXPECT_EQ(world.status(std::string("child-") + what), Status::failed);
  }
  EXPECT_EQ(waiters.begun(), 0u);
  world.expect_nothing_left();
}

TEST_F(Visible, InvalidTextFromAnySourceIsAFailureThatNamesIt) {
  const auto bad = [](const std::string& what) {
    return what == "nul" ? std::string("a\0b", 3) : std::string("\xff\xfe");
  };
  world.registry.add("Bad", [bad](ActivityContext&, std::string what) { return bad(what); });
  world.registry.add(
      "BadThrow", [bad](ActivityContext&, std::string what) -> int { throw std::runtime_error(bad(what)); });
  add("result", [bad](OrchestrationContext&, std::string what) -> Task<std::string> { co_return bad(what); });
  add("throws", [bad](OrchestrationContext&, std::string what) -> Task<std::string> {
    throw std::runtime_error(bad(what));
  });
  add("calls", [](OrchestrationContext& ctx, std::string what) -> Task<std::string> {
    co_return co_await ctx.schedule_activity<std::string>("Bad", what);
  });
  add("sends", [bad](OrchestrationContext& ctx, std::string what) -> Task<std::string> {
    co_return co_await ctx.schedule_activity<std::string>("Greet", bad(what));
  });
  add("activity throws", [](OrchestrationContext& ctx, std::string what) -> Task<std::string> {
    co_return std::to_string(co_await ctx.schedule_activity<int>("BadThrow", what));
  });
  add("key", [bad](OrchestrationContext& ctx, std::string what) -> Task<std::string> {
    ctx.set_kv_value("k", bad(what));
    co_await ctx.schedule_activity<int>("Double", 1);
    co_return "stored";
  });
  add("names", [bad](OrchestrationContext& ctx, std::string what) -> Task<std::string> {
    co_return co_await ctx.schedule_activity<std::string>(bad(what), 1);
  });
  add("waits", [bad](OrchestrationContext& ctx, std::string what) -> Task<std::string> {
    co_return co_await ctx.schedule_wait<std::string>(bad(what));
  });
  add("child id", [bad](OrchestrationContext& ctx, std::string what) -> Task<std::string> {
    co_return co_await ctx.schedule_sub_orchestration<std::string>("names", 1,
                                                                   ChildOptions().id(InstanceId(bad(what))));
  });
  add("status", [bad](OrchestrationContext& ctx, std::string what) -> Task<std::string> {
    ctx.set_custom_status(bad(what));
    co_await ctx.schedule_activity<int>("Double", 1);
    co_return "stored";
  });
  world.run();
  for (const char* what : {"nul", "no utf-8"}) {
    for (const char* name : {"result", "throws", "calls", "sends", "activity throws", "key", "status",
                             "names", "waits", "child id"}) {
      const InstanceId id(std::string(name) + " " + what);
      EXPECT_EQ(finish(id, name, std::string(what)).status, Status::failed) << id.value;
      // The instance stays readable.
      EXPECT_TRUE(world.client.get_instance(id)) << id.value;
      EXPECT_TRUE(world.client.read_history(id)) << id.value;
    }
  }
}

// -- key-values ------------------------------------------

TEST_F(Visible, KeyValuesAreSetOverwrittenClearedAndSeenByClientsWhileItRuns) {
  add("keys", [](OrchestrationContext& ctx) -> Task<std::string> {
    ctx.set_kv_value("a", 1);
    ctx.set_kv_value("a", 2);
    ctx.set_kv_value("b", std::string("text"));
    ctx.set_kv_value("gone", 1);
    ctx.clear_kv_value("gone");
    ctx.set_kv_value("c", 5);
    const bool local = ctx.get_kv_value<int>("a") == 2 && !ctx.get_kv_value("gone");
    co_await ctx.schedule_wait<int>("go");
    ctx.set_kv_value("a", ctx.get_kv_value<int>("a").value_or(0) + 1);
    co_await ctx.schedule_wait<int>("go");
    ctx.clear_all_kv_values();
    ctx.set_kv_value("last", 1);
    co_return local ? "seen" : "lost";
  });
  world.run();
  world.client.start("k", "keys").value();
  until_event("k", "ExternalSubscribed");
  EXPECT_EQ(world.client.get_key_value<int>("k", "a").value(), 2);
  EXPECT_EQ(world.client.get_key_value<std::string>("k", "b").value(), "text");
  EXPECT_EQ(world.client.get_key_value("k", "gone").value(), std::nullopt);
  EXPECT_EQ(world.client.get_key_value<int>("k", "b").error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(world.client.get_key_values("k").value().size(), 3u);
  EXPECT_TRUE(world.client.get_key_values("nobody").value().empty());
  world.client.raise_event("k", "go", 1).value();
  world.until([&] { return world.client.get_key_value<int>("k", "a").value() == 3; });
  world.client.raise_event("k", "go", 1).value();
  EXPECT_EQ(world.client.wait("k", forever).value().output_as<std::string>(), "seen");
  const KeyValues left = world.client.get_key_values("k").value();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(left.contains("last"));
}

TEST_F(Visible, ACounterIsRightAcrossTurnsExecutionsAndReplay) {
  RuntimeOptions options;
  options.max_resident_instances = 1;  // two at once: each turn replays
  add("counter", [](OrchestrationContext& ctx, int rounds) -> Task<int> {
    for (int i = 0; i < 5; ++i) {
      ctx.set_kv_value("count", ctx.get_kv_value<int>("count").value_or(0) + 1);
      co_await ctx.schedule_activity<int>("Double", i);
    }
    if (rounds > 1) co_return co_await ctx.continue_as_new(rounds - 1);
    co_return *ctx.get_kv_value<int>("count");
  });
  world.run(options);
  world.client.start("a", "counter", 3).value();
  world.client.start("b", "counter", 2).value();
  EXPECT_EQ(world.client.wait("a", forever).value().output_as<int>(), 15);
  EXPECT_EQ(world.client.wait("b", forever).value().output_as<int>(), 10);
  EXPECT_EQ(world.client.get_key_value<int>("a", "count").value(), 15);
}

TEST_F(Visible, ParentAndChildHaveTheirOwnKeysWhichGoWithThem) {
  add("child", [](OrchestrationContext& ctx, int) -> Task<bool> {
    const bool alone = !ctx.get_kv_value<int>("k").has_value();
    ctx.set_kv_value("k", 2);
    co_return alone;
  });
  add("parent", [](OrchestrationContext& ctx) -> Task<bool> {
    ctx.set_kv_value("k", 1);
    const bool alone = co_await ctx.schedule_sub_orchestration<bool>("child", 1, ChildOptions().id("c"));
    co_return alone&& ctx.get_kv_value<int>("k") == 1;
  });
  world.run();
  EXPECT_TRUE(finish("p", "parent").output_as<bool>());
  EXPECT_EQ(world.client.get_key_value<int>("c", "k").value(), 2);
  world.client.delete_instance("p").value();
  EXPECT_TRUE(world.client.get_key_values("p").value().empty());
  EXPECT_TRUE(world.client.get_key_values("c").value().empty());
  EXPECT_FALSE(finish("c", "child", 1).failure.has_value());
  EXPECT_EQ(world.client.get_key_values("c").value().size(), 1u);  // a new instance has none of the old keys
}

TEST_F(Visible, KeysThatWereNotTouchedForAWhileCanBePruned) {
  add("pruner", [](OrchestrationContext& ctx) -> Task<std::vector<int>> {
    ctx.set_kv_value("old", 1);
    co_await ctx.schedule_timer(10s);
    ctx.set_kv_value("new", 1);
    const TimePoint now = co_await ctx.utc_now();
    const int none = static_cast<int>(ctx.prune_kv_values_updated_before(TimePoint{}));
    const int one = static_cast<int>(ctx.prune_kv_values_updated_before(now - 5s));
    const int left = static_cast<int>(ctx.get_kv_all_values().size());
    const int last = static_cast<int>(ctx.prune_kv_values_updated_before(now + 1h));
    co_return std::vector<int>{none, one, left, last};
  });
  world.run();
  EXPECT_EQ(finish_later("p", "pruner", std::monostate{}).output_as<std::vector<int>>(),
            (std::vector<int>{0, 1, 1, 1}));
}

// Request and response: one instance answers in a key, another reads it through an activity.
TEST_F(Visible, AnInstanceReadsTheKeysOfAnotherThroughAnActivity) {
  world.registry.add("ReadKey", [this](ActivityContext&, std::string instance) {
    return world.client.wait_for_key_value<int>(instance, "answer", forever).value();
  });
  add("server", [](OrchestrationContext& ctx) -> Task<int> {
    const int asked = co_await ctx.schedule_wait<int>("ask");
    ctx.set_kv_value("answer", asked + 1);
    co_await ctx.schedule_wait<int>("end");
    co_return 1;
  });
  add("reader", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("ReadKey", std::string("s"));
  });
  world.run();
  world.client.start("s", "server").value();
  world.client.start("r", "reader").value();
  world.client.raise_event("s", "ask", 41).value();
  EXPECT_EQ(world.client.wait("r", forever).value().output_as<int>(), 42);
  world.client.raise_event("s", "end", 1).value();
  EXPECT_EQ(world.client.wait("s", forever).value().output_as<int>(), 1);
}

}  // namespace
}  // namespace duramen::test
