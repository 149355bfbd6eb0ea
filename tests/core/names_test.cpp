// Names that cannot be stored or answered to are refused where the code gives them, on every replay alike.

#include "core/harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace duramen::core_test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

const std::string longest(max_name_bytes, 'n');
const std::string too_long(max_name_bytes + 1, 'n');

/// The exception of awaiting the call, or "accepted".
using Call = std::function<DurableFuture<std::string>(Context&, const std::string&)>;
Task<std::string> error_of(Context& ctx, Call call, std::string name) {
  try {
    auto future = call(ctx, name);
    co_await std::move(future);
  } catch (const LimitError& error) {
    co_return "LimitError: " + error.failure().message;
  } catch (const DurableError& error) {
    co_return error.failure().type;
  }
  co_return "accepted";
}

struct Named {
  const char* what;
  Call call;
};
const std::vector<Named> futures{
    {"the name of an activity", [](Context& ctx, const std::string& n) { return ctx.schedule_activity(n); }},
    {"the name of an orchestration",
     [](Context& ctx, const std::string& n) { return ctx.schedule_sub_orchestration(n); }},
    {"an instance id",
     [](Context& ctx, const std::string& n) {
       return ctx.schedule_sub_orchestration("greet", "", ChildOptions().id(n));
     }},
    {"the name of an event", [](Context& ctx, const std::string& n) { return ctx.schedule_wait(n); }},
    {"the name of a queue", [](Context& ctx, const std::string& n) { return ctx.dequeue_event(n); }},
};
const std::vector<Named> optional_texts{
    {"a session id",
     [](Context& ctx, const std::string& n) { return ctx.schedule_activity("A").on_session(n); }},
    {"a version",
     [](Context& ctx, const std::string& n) {
       return ctx.schedule_sub_orchestration("greet", "", ChildOptions().version(n));
     }},
    {"a tag", [](Context& ctx, const std::string& n) { return ctx.schedule_activity("A").with_tag(n); }},
};

/// Gives the name, then does something else: what was refused leaves no event, and a replay gets past it.
std::string refused(const Named& named, const std::string& name) {
  Instance instance{[&named, &name](Context& ctx) -> Task<std::string> {
    const std::string error = co_await error_of(ctx, named.call, name);
    co_await ctx.schedule_activity("After", "");
    co_return error;
  }};
  instance.start();
  if (instance.history().size() != 2) return "it stands in history";
  instance.complete("After", "");
  return instance.output();
}

TEST(Names, ATooLongOneIsALimitErrorThatTheCodeCanCatch) {
  for (const auto* group : {&futures, &optional_texts}) {
    for (const Named& named : *group) {
      EXPECT_THAT(refused(named, too_long),
                  HasSubstr(std::string("LimitError: ") + named.what + " has at most"));
    }
  }
}

TEST(Names, ARetryPolicyReportsATooLongOneAsTheCallDoes) {
  for (const bool limited : {false, true}) {
    const Named retried{"the name of an activity", [limited](Context& ctx, const std::string& n) {
                          RetryPolicy policy;
                          policy.attempts(3);
                          if (limited) policy.total_timeout(std::chrono::minutes{1});
                          return ctx.schedule_activity(n).with_retry(policy);
                        }};
    Instance instance{[&retried](Context& ctx) -> Task<std::string> {
      co_return co_await error_of(ctx, retried.call, too_long);
    }};
    instance.start();
    EXPECT_THAT(instance.output(), HasSubstr("LimitError: the name of an activity"));
  }
}

TEST(Names, TheLongestOneIsScheduled) {
  for (const Named& named : futures) {
    Instance instance{
        [&](Context& ctx) -> Task<std::string> { co_return co_await error_of(ctx, named.call, longest); }};
    instance.start();
    EXPECT_THAT(instance.history(), SizeIs(2)) << named.what;
  }
}

TEST(Names, AnEmptyOneIsRefused) {
  for (const Named& named : futures) EXPECT_EQ(refused(named, ""), "InvalidName") << named.what;
}

TEST(Names, AnEmptyTagIsRefused) { EXPECT_EQ(refused(optional_texts.back(), ""), "InvalidName"); }

TEST(Names, AnEmptySessionIdIsRefused) { EXPECT_EQ(refused(optional_texts.front(), ""), "InvalidName"); }

TEST(Names, AVersionToContinueWithIsRefusedWhereTheCodeGivesIt) {
  for (const std::string& version : {too_long, std::string("a\xFFz")}) {
    Instance instance{[&version](Context& ctx) -> Task<std::string> {
      std::string error;
      try {
        co_return co_await ctx.continue_as_new("next", version);
      } catch (const LimitError&) {
        error = "LimitError";
      } catch (const DurableError& refusal) {
        error = refusal.failure().type;
      }
      co_await ctx.schedule_activity("After", "");
      co_return error;
    }};
    instance.start();
    instance.complete("After", "");
    EXPECT_EQ(instance.output(), version == too_long ? "LimitError" : "InvalidName");
  }
}

TEST(Names, CodeThatContinuesAgainAndAgainWithAWrongVersionIsStopped) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    while (true) (void)co_await ctx.continue_as_new("next", too_long).as_result();
  }};
  instance.start();
  EXPECT_EQ(instance.failure().type, "TooManyActions");
}

TEST(Names, AVersionThatCannotBeRegisteredIsRefused) {
  for (const char* version : {"", "abc", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.3 ", "v1.2.3", "1.-2.3"}) {
    EXPECT_EQ(refused(optional_texts[1], version), "InvalidName") << version;
    Instance instance{[version](Context& ctx) -> Task<std::string> {
      try {
        ctx.schedule_orchestration("greet", "other", "", version);
      } catch (const DurableError& error) {
        co_return error.failure().message;
      }
      co_return "accepted";
    }};
    instance.start();
    EXPECT_THAT(instance.output(), HasSubstr("like 1.2.3")) << version;
    EXPECT_THROW(Registry().add(
                     "it", [](Context&) -> Task<int> { co_return 1; }, version),
                 std::invalid_argument)
        << version;
  }
}

TEST(Names, AnEmptyKeyIsRefused) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    int refused = 0;
    const auto attempt = [&refused](const auto& call) {
      try {
        call();
      } catch (const DurableError& error) {
        refused += error.failure().type == "InvalidName" ? 1 : 0;
      }
    };
    attempt([&] { ctx.set_kv_value("", 1); });
    attempt([&] { ctx.clear_kv_value(""); });
    co_return std::to_string(refused);
  }};
  instance.start();
  EXPECT_EQ(instance.output(), "2");
}

TEST(Names, AnInvalidTextIsRefused) {
  for (const Named& named : futures) EXPECT_EQ(refused(named, "a\xFFz"), "InvalidName") << named.what;
}

TEST(Names, CallsThatActAtOnceThrowAtOnce) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    std::string caught;
    const auto attempt = [&caught](const char* what, const auto& call) {
      try {
        call();
      } catch (const LimitError&) {
        caught += std::string(what) + " ";
      } catch (const DurableError& error) {
        caught += what + (" " + error.failure().type) + " ";
      }
    };
    attempt("key", [&] { ctx.set_kv_value(too_long, 1); });
    attempt("orchestration", [&] { ctx.schedule_orchestration(too_long, "id", ""); });
    attempt("id", [&] { ctx.schedule_orchestration("greet", InstanceId(too_long), ""); });
    attempt("empty", [&] { ctx.schedule_orchestration("", "id", ""); });
    attempt("nobody", [&] { ctx.schedule_orchestration("greet", "", ""); });
    attempt("detached", [&] { ctx.schedule_activity(too_long).detach(); });
    co_await ctx.schedule_activity("After", "");
    co_return caught;
  }};
  instance.start();
  instance.complete("After", "");
  EXPECT_EQ(instance.output(), "key orchestration id empty InvalidName nobody InvalidName detached ");
  EXPECT_THAT(instance.history(), SizeIs(4));
}

TEST(Names, AnUncaughtOneFailsTheInstanceAndNotTheNode) {
  Instance instance{
      [](Context& ctx) -> Task<std::string> { co_return co_await ctx.schedule_activity(too_long); }};
  instance.start();
  EXPECT_EQ(instance.failure().kind, FailureKind::limit);
}

TEST(Names, AHistoryThatHoldsALongOneIsReplayed) {
  // Recorded when names had no limit.
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_return co_await ctx.schedule_activity(too_long) + co_await ctx.schedule_activity("B");
  }};
  event::OrchestrationStarted started;
  started.name = "subject";
  started.version = "1.0.0";
  instance.forge(
      {Event{EventId{1}, {}, {}, started},
       Event{EventId{2}, {}, {}, event::ActivityScheduled{too_long, Payload::none(), {}, {}, {}}}});
  instance.complete(EventId{2}, Payload::text("a"));
  instance.complete("B", "b");
  EXPECT_EQ(instance.output(), "ab");
}

TEST(Names, CodeThatTriesAgainAndAgainReachesTheLimitOfActions) {
  core::ExecutionOptions options;
  options.max_actions_per_turn = 10;
  const auto tries = [](Context& ctx) -> Task<std::string> {
    while (true) (void)co_await error_of(ctx, futures.front().call, too_long);
  };
  Instance instance{tries, Mode::every_way, options};
  instance.start();
  EXPECT_EQ(instance.failure().type, "TooManyActions");

  Instance replayed{[](Context& ctx) -> Task<std::string> { co_return co_await ctx.schedule_wait("go"); },
                    Mode::every_way, options};
  replayed.start();
  replayed.deploy(tries);
  replayed.raise("go", "");
  EXPECT_EQ(replayed.failure().type, "TooManyActions");
}

TEST(Names, RefusalsOfEarlierTurnsDoNotCountAgainstTheLimitOfActions) {
  core::ExecutionOptions options;
  options.max_actions_per_turn = 3;
  Instance instance{[](Context& ctx) -> Task<std::string> {
                      for (int turn = 0; turn < 6; ++turn) {
                        (void)co_await error_of(ctx, futures.front().call, too_long);
                        (void)co_await error_of(ctx, futures.front().call, "");
                        co_await ctx.schedule_activity("A", "");
                      }
                      co_return "done";
                    },
                    Mode::every_way, options};
  instance.start();
  for (int turn = 0; turn < 6; ++turn) instance.complete("A", "");
  EXPECT_EQ(instance.output(), "done");
}

// -- ids that are made up ----------------------------------------------------------------------------------

InstanceId child_of(const std::string& parent) {
  Instance instance{handler_of([](Context& ctx) -> Task<std::string> {
                      co_return co_await ctx.schedule_sub_orchestration("greet");
                    }),
                    Mode::every_way,
                    {},
                    {InstanceId(parent), Incarnation{1}, ExecutionId{1}}};
  instance.start();
  const auto starts = instance.messages<message::StartOrchestration>();
  return starts.empty() ? InstanceId("none") : starts.front().first;
}

TEST(AutomaticIds, TheIdOfAChildHasAtMostTwoHundredBytes) {
  const std::string place = "::sub::1.2";
  const std::string fits(200 - place.size(), 'p');
  EXPECT_EQ(child_of(fits).value, fits + place);
  EXPECT_EQ(child_of(fits + "p").value.size(), 200u);
  EXPECT_THAT(child_of(fits + "p").value, HasSubstr("..."));

  const InstanceId one = child_of(longest);
  std::string another_parent = longest;
  another_parent.back() = 'x';
  EXPECT_LE(one.value.size(), 200u);
  EXPECT_THAT(one.value, HasSubstr(longest.substr(0, 150) + "..."));
  EXPECT_TRUE(one.value.ends_with(place)) << one.value;
  EXPECT_NE(one, child_of(another_parent));
  EXPECT_EQ(one, child_of(longest));
  // And so do those of its descendants.
  InstanceId below = one;
  for (int depth = 0; depth < 200; ++depth) below = child_of(below.value);
  EXPECT_LE(below.value.size(), 200u);
}

}  // namespace
}  // namespace duramen::core_test
