// Events, queues and executions that continue as new: every message arrives, in order.
#include "e2e/scenario.hpp"

namespace duramen::test {
namespace {

class Messages : public Scenario {
 protected:
  /// Stops all turns, so that messages sent meanwhile arrive as one batch.
  template <class F>
  void in_one_batch(F send) {
    world.runtimes.clear();
    send();
    world.run();
  }
};

// -- much mail ------------------------------------------

// 80 MiB of mail that the first execution takes and does not read: more than a beginning carries, and more
// than one statement puts back.
TEST_F(Messages, AnyAmountOfUnreadMailSurvivesContinueAsNewInOrderAndOnce) {
  constexpr int count = 40;
  add("reader", [](OrchestrationContext& ctx, bool reads) -> Task<int> {
    if (!reads) {
      co_await ctx.schedule_wait("go");
      co_return co_await ctx.continue_as_new(true);
    }
    int next = 0;
    for (; next < count; ++next) {
      const std::string job = co_await ctx.dequeue_event("jobs");
      if (std::stoi(job) != next) throw std::runtime_error("took " + job.substr(0, 8));
    }
    co_return next;
  });
  world.client.start("r", "reader", false).value();
  for (int i = 0; i < count; ++i) {
    std::string job = std::to_string(i) + " ";
    job.resize((std::size_t{2} << 20u) - 64, 'x');
    world.client.enqueue_event("r", "jobs", job).value();
  }
  world.client.raise_event("r", "go", "").value();
  world.run();
  EXPECT_EQ(world.end_of("r").output_as<int>(), count);
  EXPECT_EQ(world.client.list_executions("r").value().size(), 2u);
}

// -- events ------------------------------------------

TEST_F(Messages, AnEventThatComesBeforeItsWaitIsThereForIt) {
  add("late", [](OrchestrationContext& ctx) -> Task<std::string> {
    co_await ctx.schedule_wait<std::string>("first");
    co_return co_await ctx.schedule_wait<std::string>("second");
  });
  world.run();
  world.client.start("l", "late").value();
  world.client.raise_event("l", "second", "early").value();
  until_event("l", "ExternalEvent");
  world.client.raise_event("l", "first", "x").value();
  EXPECT_EQ(world.client.wait("l", forever).value().output_as<std::string>(), "early");
}

TEST_F(Messages, ACancelledWaitTakesNothingFromTheNextOne) {
  add("again", [](OrchestrationContext& ctx) -> Task<std::string> {
    auto first = co_await ctx.select2(ctx.schedule_wait<std::string>("go"), ctx.schedule_timer(1s));
    if (first.is_first()) co_return "too early";
    co_return co_await ctx.schedule_wait<std::string>("go");
  });
  world.run();
  world.client.start("a", "again").value();
  world.until_later([&] { return world.events("a", "TimerFired") == 1; });
  world.client.raise_event("a", "go", "for the second").value();
  EXPECT_EQ(world.client.wait("a", forever).value().output_as<std::string>(), "for the second");
}

TEST_F(Messages, TwoWaitsGetTwoEventsInOrderAndOfTwoNamesTheFirstDeliveredWins) {
  add("two", [](OrchestrationContext& ctx) -> Task<std::string> {
    auto both = co_await ctx.join2(ctx.schedule_wait<std::string>("e"), ctx.schedule_wait<std::string>("e"));
    auto first =
        co_await ctx.select2(ctx.schedule_wait<std::string>("b"), ctx.schedule_wait<std::string>("a"));
    co_return std::get<0>(both) + std::get<1>(both) + (first.is_first() ? first.first() : first.second());
  });
  world.run();
  world.client.start("t", "two").value();
  until_event("t", "ExternalSubscribed");
  in_one_batch([&] {
    for (const char* data : {"1", "2"}) world.client.raise_event("t", "e", data).value();
    for (const char* name : {"a", "b"}) world.client.raise_event("t", name, name).value();
  });
  EXPECT_EQ(world.client.wait("t", forever).value().output_as<std::string>(), "12a");
}

TEST_F(Messages, AnEventAfterTheEndChangesNothing) {
  add("quick", [](OrchestrationContext&) -> Task<int> { co_return 1; });
  world.run();
  finish("q", "quick");
  const auto before = world.client.read_history("q").value().size();
  EXPECT_EQ(world.client.raise_event("q", "go", 1).value(), EnqueueOutcome::finished);
  EXPECT_EQ(world.client.enqueue_event("q", "go", 1).value(), EnqueueOutcome::finished);
  EXPECT_EQ(world.client.read_history("q").value().size(), before);
  world.expect_nothing_left();
}

// -- queues ------------------------------------------

TEST_F(Messages, AQueueIsReadInOrderWhetherItsMessagesCameBeforeOrAfterTheTaker) {
  add("drain", [](OrchestrationContext& ctx, int count) -> Task<std::string> {
    std::string all;
    for (int i = 0; i < count; ++i) all += co_await ctx.dequeue_event<std::string>("q");
    co_return all;
  });
  for (const char* data : {"a", "b"}) world.client.enqueue_event("d", "q", data).value();  // before it exists
  world.client.start("d", "drain", 5).value();
  world.client.enqueue_event("d", "q", "c").value();  // before its first turn
  world.run();
  until_event("d", "ExternalSubscribedPersistent");
  for (const char* data : {"d", "e"}) world.client.enqueue_event("d", "q", data).value();
  EXPECT_EQ(world.client.wait("d", forever).value().output_as<std::string>(), "abcde");
}

TEST_F(Messages, QueuesAndEventsOfOneNameAreApartAndSoAreQueues) {
  add("mixed", [](OrchestrationContext& ctx) -> Task<std::string> {
    const auto event = co_await ctx.schedule_wait<std::string>("x");
    const auto one = co_await ctx.dequeue_event<std::string>("x");
    const auto two = co_await ctx.dequeue_event<std::string>("y");
    const auto three = co_await ctx.dequeue_event<std::string>("x");
    co_return event + one + two + three;
  });
  world.client.start("m", "mixed").value();
  world.client.enqueue_event("m", "y", "y1 ").value();
  for (const char* data : {"q1 ", "q2 "}) world.client.enqueue_event("m", "x", data).value();
  world.client.raise_event("m", "x", "event ").value();
  world.run();
  EXPECT_EQ(world.end_of("m").output_as<std::string>(), "event q1 y1 q2 ");
}

TEST_F(Messages, ADequeueThatLosesARaceEatsNothing) {
  add("patient", [](OrchestrationContext& ctx) -> Task<std::string> {
    for (int i = 0; i < 3; ++i) {
      auto turn = co_await ctx.select2(ctx.dequeue_event<std::string>("q"), ctx.schedule_wait<int>("skip"));
      if (turn.is_first()) co_return "too early";
    }
    co_return co_await ctx.dequeue_event<std::string>("q");
  });
  world.run();
  world.client.start("p", "patient").value();
  until_event("p", "ExternalSubscribed");
  // In one batch: the last skip resolves the race, and the next dequeue takes the message behind it.
  in_one_batch([&] {
    for (int i = 0; i < 3; ++i) world.client.raise_event("p", "skip", i).value();
    world.client.enqueue_event("p", "q", "for the last").value();
  });
  EXPECT_EQ(world.client.wait("p", forever).value().output_as<std::string>(), "for the last");
  EXPECT_EQ(world.events("p", "ExternalSubscribedPersistentCancelled"), 3u);
}

TEST_F(Messages, MoreMessagesThanAnyBufferOfTheReferenceHoldsAreAllDelivered) {
  static constexpr int many = 500;
  add("sum", [](OrchestrationContext& ctx) -> Task<int> {
    int sum = 0;
    int expected = 0;
    for (int i = 0; i < many; ++i) {
      const int value = co_await ctx.dequeue_event<int>("q");
      if (value != expected++) throw std::runtime_error("out of order");
      sum += value;
    }
    co_return sum;
  });
  world.client.start("s", "sum").value();
  for (int i = 0; i < many; ++i) world.client.enqueue_event("s", "q", i).value();
  world.run();
  EXPECT_EQ(world.end_of("s").output_as<int>(), many * (many - 1) / 2);
}

// A chat: messages in, answers out through the status, a fresh history after each.
TEST_F(Messages, AChatAnswersEveryMessageThroughItsStatus) {
  add("chat", [](OrchestrationContext& ctx, int answered) -> Task<int> {
    const auto said = co_await ctx.dequeue_event<std::string>("in");
    if (said == "bye") co_return answered;
    const auto answer = co_await ctx.schedule_activity("Greet", said);
    ctx.set_custom_status(std::to_string(answered + 1) + " " + answer);
    co_return co_await ctx.continue_as_new(answered + 1);
  });
  world.run();
  world.client.start("chat", "chat", 0).value();
  std::uint64_t version = 0;
  for (int i = 1; i <= 5; ++i) {
    world.client.enqueue_event("chat", "in", "you " + std::to_string(i)).value();
    const InstanceInfo info = world.client.wait_for_status_change("chat", version, forever).value();
    EXPECT_EQ(info.custom_status, std::to_string(i) + " Hello, you " + std::to_string(i) + "!");
    version = info.custom_status_version;
  }
  world.client.enqueue_event("chat", "in", "bye").value();
  EXPECT_EQ(world.client.wait("chat", forever).value().output_as<int>(), 5);
}

TEST_F(Messages, AConfigurationIsReloadedBetweenRounds) {
  add("service", [](OrchestrationContext& ctx, std::string config) -> Task<std::string> {
    while (true) {
      auto change = co_await ctx.select2(ctx.dequeue_event<std::string>("config"), ctx.schedule_timer(10s));
      if (change.is_first()) {
        config = change.first();
        continue;  // there may be more
      }
      if (config == "stop") co_return "stopped";
      co_return co_await ctx.continue_as_new(config);
    }
  });
  world.run();
  world.client.start("s", "service", "1").value();
  for (const char* config : {"2", "3", "stop"}) world.client.enqueue_event("s", "config", config).value();
  EXPECT_EQ(world.end_of("s").output_as<std::string>(), "stopped");
}

// -- continue as new ------------------------------------------

TEST_F(Messages, InputRollsOverExecutionsWithAndWithoutAwaits) {
  add("count", [](OrchestrationContext& ctx, std::vector<int> state) -> Task<int> {
    if (state.at(0) % 2 == 0) state.at(1) += co_await ctx.schedule_activity<int>("Double", 1);
    if (state.at(0) == 0) co_return state.at(1);
    state.at(0) -= 1;
    co_return co_await ctx.continue_as_new(state);
  });
  world.run();
  EXPECT_EQ(finish("c", "count", std::vector<int>{10, 0}).output_as<int>(), 12);
  EXPECT_EQ(world.client.list_executions("c").value().size(), 11u);
  EXPECT_EQ(world.client.get_instance("c").value().execution, ExecutionId{11});
}

TEST_F(Messages, ManyChainsAtOnceKeepApart) {
  add("chain", [](OrchestrationContext& ctx, std::vector<int> state) -> Task<int> {
    state.at(1) += co_await ctx.schedule_activity<int>("Double", state.at(2));
    if (--state.at(0) == 0) co_return state.at(1);
    co_return co_await ctx.continue_as_new(state);
  });
  world.run();
  world.run();
  for (int i = 0; i < 10; ++i)
    world.client.start("c" + std::to_string(i), "chain", std::vector<int>{5, 0, i}).value();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(world.client.wait("c" + std::to_string(i), forever).value().output_as<int>(), 5 * 2 * i);
  }
}

TEST_F(Messages, EventsGoToTheCurrentExecutionAndUntakenOnesGoAlong) {
  add("actor", [](OrchestrationContext& ctx, std::string so_far) -> Task<std::string> {
    so_far += co_await ctx.schedule_wait<std::string>("e");
    if (so_far.size() == 4) co_return so_far;
    co_return co_await ctx.continue_as_new(so_far);
  });
  world.client.start("a", "actor", "").value();
  for (const char* data : {"1", "2", "3"}) world.client.raise_event("a", "e", data).value();
  world.run();
  world.until([&] { return world.client.get_instance("a").value().execution == ExecutionId{4}; });
  until_event("a", "ExternalSubscribed");
  world.client.raise_event("a", "e", "4").value();
  EXPECT_EQ(world.client.wait("a", forever).value().output_as<std::string>(), "1234");
}

TEST_F(Messages, ACompletionOfAnEarlierExecutionIsNotTakenForOneOfThis) {
  add("rounds", [](OrchestrationContext& ctx, int round) -> Task<int> {
    // The same event number in both executions.
    auto call = ctx.schedule_activity<int>("Wait", round).start();
    if (round == 1) {
      co_await ctx.schedule_wait<int>("go");
      co_return co_await ctx.continue_as_new(2);
    }
    auto winner = co_await ctx.select2(std::move(call), ctx.schedule_wait<int>("enough"));
    co_return winner.is_first() ? -1 : 2;
  });
  world.run();
  world.client.start("r", "rounds", 1).value();
  world.until([&] { return waiters.begun() == 1; });
  const EventId activity = id_of("r", "ActivityScheduled");
  world.client.raise_event("r", "go", 1).value();
  world.until([&] { return waiters.begun() == 2; });
  for (const std::uint64_t execution : {1, 3}) {
    inject("r", message::ActivityCompleted{ExecutionId{execution}, activity, Payload::json("1")});
  }
  world.client.raise_event("r", "enough", 1).value();
  EXPECT_EQ(world.client.wait("r", forever).value().output_as<int>(), 2);
}

TEST_F(Messages, AnActivityMayPruneTheHistoryOfItsOwnInstance) {
  world.registry.add("Prune", [this](ActivityContext& ctx, int value) {
    world.client.prune_executions(ctx.instance_id(), PruneOptions{.keep_last = 2}).value();
    return value;
  });
  add("eternal", [](OrchestrationContext& ctx, int round) -> Task<int> {
    co_await ctx.schedule_activity<int>("Prune", round);
    if (round == 6) co_return round;
    co_return co_await ctx.continue_as_new(round + 1);
  });
  world.run();
  EXPECT_EQ(finish("e", "eternal", 1).output_as<int>(), 6);
  EXPECT_EQ(world.client.list_executions("e").value().size(), 2u);
}

// A detached start and continue-as-new in one turn, a queue message and a timer in one batch before it.
TEST_F(Messages, NothingIsLostInTheTurnThatContinues) {
  add("leaf", [](OrchestrationContext&, int value) -> Task<int> { co_return value; });
  add("last", [](OrchestrationContext& ctx, int round) -> Task<std::string> {
    if (round == 2) co_return co_await ctx.dequeue_event<std::string>("q");
    co_await ctx.schedule_timer(10s);
    ctx.schedule_orchestration("leaf", "free", 7);
    co_return co_await ctx.continue_as_new(2);
  });
  world.run();
  world.client.start("l", "last", 1).value();
  until_event("l", "TimerCreated");
  in_one_batch([&] {
    world.client.enqueue_event("l", "q", "kept").value();
    world.clock.advance(11s);
  });
  EXPECT_EQ(world.end_of("l").output_as<std::string>(), "kept");
  EXPECT_EQ(world.client.wait("free", forever).value().output_as<int>(), 7);
}

// The parent's later execution, and the child's answer taken by another node.
TEST_F(Messages, ChildrenOfLaterExecutionsAnswerAcrossNodes) {
  add("child", [](OrchestrationContext& ctx, int round) -> Task<int> {
    const int more = co_await ctx.schedule_wait<int>("more");
    if (more > 0) co_return co_await ctx.continue_as_new(round + more);  // keeps its parent
    co_return round;
  });
  add("parent", [](OrchestrationContext& ctx, int round) -> Task<int> {
    if (round < 3) co_return co_await ctx.continue_as_new(round + 1);
    auto child = ctx.schedule_sub_orchestration<int>("child", 10, ChildOptions().id("c"));
    co_return co_await std::move(child);
  });
  world.run();
  world.client.start("p", "parent", 1).value();
  until_event("c", "ExternalSubscribed");
  world.runtimes.clear();
  world.client.raise_event("c", "more", 5).value();
  world.client.raise_event("c", "more", 0).value();
  // Another node, which never saw the earlier executions.
  world.run();
  EXPECT_EQ(world.end_of("p").output_as<int>(), 15);
}

}  // namespace
}  // namespace duramen::test
