// First programs of users: calls, branches, loops, errors, children, detached starts, all of them typed.
#include "e2e/scenario.hpp"
#include <duramen/json.hpp>

namespace duramen::test {
namespace {

struct Order {
  std::string id;
  int cents = 0;
};
void to_json(nlohmann::json& json, const Order& order) { json = {{"id", order.id}, {"cents", order.cents}}; }
void from_json(const nlohmann::json& json, Order& order) {
  json.at("id").get_to(order.id);
  json.at("cents").get_to(order.cents);
}

inline constexpr Activity<Order(Order)> Discount{"Discount"};
inline constexpr Orchestration<int(Order)> Checkout{"checkout"};

using Samples = Scenario;

TEST_F(Samples, AnActivityIsCalledABranchIsTakenALoopIsRun) {
  add("flow", [](OrchestrationContext& ctx, std::string who) -> Task<std::string> {
    std::string greeting = co_await ctx.schedule_activity("Greet", who);
    int sum = 0;
    for (int i = 0; i < 3; ++i) sum += co_await ctx.schedule_activity<int>("Double", i);
    if (sum != 6) co_return "wrong";
    co_return greeting;
  });
  world.run();
  EXPECT_EQ(finish("f", "flow", "Rust").output_as<std::string>(), "Hello, Rust!");
  EXPECT_EQ(runs, 3);
}

// Debit, then ship; if shipping fails, the debit is undone.
TEST_F(Samples, ALaterStepThatFailsIsCompensatedAndAnEarlierOneStopsTheFlow) {
  std::atomic<int> refunds{0};
  std::atomic<int> shipped{0};
  world.registry.add("Step", [&](ActivityContext&, std::string what) {
    if (what.starts_with("broken")) throw std::runtime_error(what);
    if (what == "ship") ++shipped;
    if (what == "refund") ++refunds;
    return what;
  });
  add("order", [](OrchestrationContext& ctx, std::vector<std::string> steps) -> Task<std::string> {
    auto debit = co_await ctx.schedule_activity("Step", steps.at(0)).as_result();
    if (!debit) co_return "no debit: " + debit.error().message;
    auto ship = co_await ctx.schedule_activity("Step", steps.at(1)).as_result();
    if (ship) co_return "shipped";
    co_await ctx.schedule_activity("Step", std::string("refund"));
    co_return "refunded";
  });
  world.run();
  using Steps = std::vector<std::string>;
  EXPECT_EQ(finish("a", "order", Steps{"debit", "ship"}).output_as<std::string>(), "shipped");
  EXPECT_EQ(refunds, 0);
  EXPECT_EQ(finish("b", "order", Steps{"debit", "broken ship"}).output_as<std::string>(), "refunded");
  EXPECT_EQ(refunds, 1);
  EXPECT_EQ(finish("c", "order", Steps{"broken debit", "ship"}).output_as<std::string>(),
            "no debit: broken debit");
  EXPECT_EQ(shipped, 1);
}

TEST_F(Samples, AnErrorCrossesNestedFunctionsAndIsHandledOrFailsTheInstance) {
  add("nested", [](OrchestrationContext& ctx, bool handled) -> Task<std::string> {
    const auto inner = [](OrchestrationContext& c) -> Task<int> {
      co_return co_await c.schedule_activity<int>("Fail", std::string("deep down"));
    };
    const auto outer = [inner](OrchestrationContext& c) -> Task<int> { co_return 1 + co_await inner(c); };
    if (!handled) co_return std::to_string(co_await outer(ctx));
    auto result = co_await attempt(outer(ctx));
    co_return result ? "worked" : "handled: " + result.error().message;
  });
  world.run();
  EXPECT_EQ(finish("a", "nested", true).output_as<std::string>(), "handled: deep down");
  const InstanceState failed = finish("b", "nested", false);
  EXPECT_EQ(failed.status, Status::failed);
  EXPECT_EQ(failed.failure->message, "deep down");
}

TEST_F(Samples, ATimerThatWinsIsATimeoutAndAnEventMayBeatAnActivity) {
  add("timeout", [](OrchestrationContext& ctx) -> Task<std::string> {
    auto first = co_await ctx.select2(ctx.schedule_activity<int>("Wait", 1), ctx.schedule_timer(5s));
    auto second =
        co_await ctx.select2(ctx.schedule_activity<int>("Wait", 2), ctx.schedule_wait<std::string>("say"));
    co_return first.is_second() && second.is_second() ? second.second() : "wrong";
  });
  world.run();
  world.client.start("t", "timeout").value();
  world.client.raise_event("t", "say", "enough").value();
  EXPECT_EQ(world.end_of("t").output_as<std::string>(), "enough");
  EXPECT_EQ(world.reasons("t"), std::vector(2, CancelReason::select_loser));
}

TEST_F(Samples, ManyGreetingsAreJoinedInArgumentOrder) {
  add("greetings", [](OrchestrationContext& ctx) -> Task<std::string> {
    std::vector<DurableFuture<std::string>> all;
    for (const char* who : {"Gabbar", "Samba", "Kaalia"}) all.push_back(ctx.schedule_activity("Greet", who));
    std::string text;
    for (const std::string& greeting : co_await ctx.join(std::move(all))) text += greeting;
    co_return text;
  });
  world.run();
  EXPECT_EQ(finish("g", "greetings").output_as<std::string>(), "Hello, Gabbar!Hello, Samba!Hello, Kaalia!");
}

TEST_F(Samples, ChildrenAreCalledOneByOneTogetherAndInAChain) {
  add("leaf", [](OrchestrationContext& ctx, int value) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Double", value);
  });
  add("middle", [](OrchestrationContext& ctx, int value) -> Task<int> {
    co_return 1 + co_await ctx.schedule_sub_orchestration<int>("leaf", value);
  });
  add("root", [](OrchestrationContext& ctx) -> Task<int> {
    const int one = co_await ctx.schedule_sub_orchestration<int>("middle", 10);
    std::vector<DurableFuture<int>> all;
    for (int i = 0; i < 5; ++i) all.push_back(ctx.schedule_sub_orchestration<int>("leaf", i));
    int sum = one;
    for (const int value : co_await ctx.join(std::move(all))) sum += value;
    co_return sum;
  });
  world.run();
  EXPECT_EQ(finish("r", "root").output_as<int>(), 21 + 20);
  EXPECT_EQ(world.client.get_instance_tree("r").value().size(), 8u);
}

TEST_F(Samples, ADetachedStartIsFollowedByAnActivityAndRunsOnItsOwn) {
  add("leaf", [](OrchestrationContext&, int value) -> Task<int> { co_return value; });
  add("starter", [](OrchestrationContext& ctx) -> Task<int> {
    ctx.schedule_orchestration("leaf", "free-1", 1);
    ctx.schedule_orchestration("leaf", "free-2", 2);
    co_return co_await ctx.schedule_activity<int>("Double", 4);
  });
  world.run();
  EXPECT_EQ(finish("s", "starter").output_as<int>(), 8);
  EXPECT_EQ(world.client.wait("free-1", forever).value().output_as<int>(), 1);
  EXPECT_EQ(world.client.wait("free-2", forever).value().output_as<int>(), 2);
  EXPECT_FALSE(world.client.get_instance("free-1").value().parent.has_value());
}

TEST_F(Samples, TypesGoThroughActivitiesEventsChildrenAndTheClient) {
  world.registry.add(Discount, [](ActivityContext&, Order order) {
    order.cents /= 2;
    return order;
  });
  world.registry.add(Checkout, [](OrchestrationContext& ctx, Order order) -> Task<int> {
    const Order cheaper = co_await ctx.schedule_activity(Discount, order);
    const Order added = co_await ctx.schedule_wait<Order>("add");
    co_return cheaper.cents + added.cents;
  });
  world.run();
  world.client.start("o", Checkout, Order{"A", 100}).value();
  world.client.raise_event("o", "add", Order{"B", 7}).value();
  EXPECT_EQ(world.client.wait("o", Checkout, forever).value().value(), 57);
  // A failed branch fails a typed join after the other branches have finished.
  add("joined", [](OrchestrationContext& ctx) -> Task<int> {
    auto both = co_await ctx.join2(ctx.schedule_activity<int>("Double", 1),
                                   ctx.schedule_activity<int>("Fail", std::string("typed")).as_result());
    co_return std::get<0>(both) + (std::get<1>(both) ? 100 : 1);
  });
  world.run();
  EXPECT_EQ(finish("j", "joined").output_as<int>(), 3);
}

TEST_F(Samples, ADecodeErrorIsAFailureThatCanBeCaught) {
  add("wrong", [](OrchestrationContext& ctx) -> Task<std::string> {
    auto activity = co_await ctx.schedule_activity<int>("Greet", std::string("x")).as_result();
    auto event = co_await ctx.schedule_wait<int>("number").as_result();
    co_return std::string(activity ? "decoded" : "refused") + (event ? " decoded" : " refused");
  });
  add("typed", [](OrchestrationContext&, int value) -> Task<int> { co_return value; });
  world.run();
  world.client.start("w", "wrong").value();
  world.client.raise_event("w", "number", "not one").value();
  EXPECT_EQ(world.client.wait("w", forever).value().output_as<std::string>(), "refused refused");
  EXPECT_EQ(finish("t", "typed", "not one").status, Status::failed);
}

TEST_F(Samples, AnInstanceKnowsItsNamesAndAnActivityItsOwn) {
  Signal<std::string> seen;
  world.registry.add("Look", [&](ActivityContext& ctx, int) {
    seen.set(ctx.instance_id().value + " " + ctx.orchestration_name() + " " + ctx.orchestration_version() +
             " " + ctx.activity_name() + " " + std::to_string(ctx.execution_id().value) + " " +
             std::to_string(ctx.attempt()));
    return 1;
  });
  add("self", [](OrchestrationContext& ctx) -> Task<std::string> {
    co_await ctx.schedule_activity<int>("Look", 1);
    co_return ctx.instance_id().value + " " + ctx.orchestration_name() + " " + ctx.orchestration_version();
  });
  world.run();
  EXPECT_EQ(finish("me", "self").output_as<std::string>(), "me self 1.0.0");
  EXPECT_EQ(seen.wait(), "me self 1.0.0 Look 1 1");
}

TEST_F(Samples, ManyInstancesOfOneOrchestrationAndOfSeveralDoNotMix) {
  add("a", [](OrchestrationContext& ctx, int value) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Double", value);
  });
  add("b", [](OrchestrationContext& ctx, int value) -> Task<std::string> {
    co_return co_await ctx.schedule_activity("Greet", std::to_string(value));
  });
  world.run();
  for (int i = 0; i < 20; ++i) {
    world.client.start("a" + std::to_string(i), "a", i).value();
    world.client.start("b" + std::to_string(i), "b", i).value();
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(world.client.wait("a" + std::to_string(i), forever).value().output_as<int>(), 2 * i);
    EXPECT_EQ(world.client.wait("b" + std::to_string(i), forever).value().output_as<std::string>(),
              "Hello, " + std::to_string(i) + "!");
  }
}

// -- values that replay the same ------------------------------------------

TEST_F(Samples, GuidsAndTimesAreSaneDifferAndStayTheSameOnReplay) {
  RuntimeOptions options;
  options.max_resident_instances = 1;  // two instances: every turn replays
  add("calls", [](OrchestrationContext& ctx) -> Task<std::string> {
    const std::string first = co_await ctx.new_guid();
    const std::string second = co_await ctx.new_guid();
    const TimePoint now = co_await ctx.utc_now();
    co_await ctx.schedule_activity("Greet", first);
    co_await ctx.schedule_timer(10s);
    const TimePoint later = co_await ctx.utc_now();
    auto both = co_await ctx.join2(ctx.new_guid(), ctx.schedule_activity<int>("Double", 1));
    auto winner = co_await ctx.select2(ctx.new_guid(), ctx.schedule_activity<int>("Wait", 1));
    const bool sane = first.size() == 36 && first != second && std::get<0>(both) != second &&
                      winner.is_first() && later - now >= 10s && to_unix_ms(now) >= 1'750'000'000'000;
    co_return sane ? "sane" : "insane";
  });
  world.run(options);
  world.client.start("a", "calls").value();
  world.client.start("b", "calls").value();
  EXPECT_EQ(world.end_of("a").output_as<std::string>(), "sane");
  EXPECT_EQ(world.end_of("b").output_as<std::string>(), "sane");
  // A recorded value is available at once: the activity after it never began.
  EXPECT_EQ(waiters.begun(), 0u);
}

TEST_F(Samples, ACancelAfterARecordedValueEndsAsAnyOther) {
  add("guid", [](OrchestrationContext& ctx) -> Task<std::string> {
    const std::string id = co_await ctx.new_guid();
    co_await ctx.schedule_wait<int>("never");
    co_return id;
  });
  world.run();
  world.client.start("g", "guid").value();
  until_event("g", "ExternalSubscribed");
  world.client.cancel("g", "enough").value();
  EXPECT_EQ(world.client.wait("g", forever).value().status, Status::cancelled);
}

}  // namespace
}  // namespace duramen::test
