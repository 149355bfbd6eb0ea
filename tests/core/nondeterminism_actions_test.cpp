// Code that changed under a running instance, for each kind of action.

#include "core/harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

namespace duramen::core_test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

/// Does `step`, holds on to what it gives, and waits for A.
template <class Step>
auto doing(Step step) {
  return [step](Context& ctx) -> Task<std::string> {
    [[maybe_unused]] auto held = step(ctx);
    co_return co_await ctx.schedule_activity("A", "");
  };
}

auto wait(std::string name) {
  return [name](Context& ctx) { return ctx.schedule_wait(name).start(); };
}
auto dequeue(std::string name) {
  return [name](Context& ctx) { return ctx.dequeue_event(name).start(); };
}
auto child(std::string name, std::string input = "", ChildOptions options = {}) {
  return [=](Context& ctx) { return ctx.schedule_sub_orchestration(name, input, options).start(); };
}
auto start(std::string name, std::string instance, std::string input = "") {
  return [=](Context& ctx) {
    ctx.schedule_orchestration(name, instance, input);
    return 0;
  };
}
auto set_key(std::string key, int value) {
  return [=](Context& ctx) {
    ctx.set_kv_value(key, value);
    return 0;
  };
}
auto clear_key(std::string key) {
  return [=](Context& ctx) {
    ctx.clear_kv_value(key);
    return 0;
  };
}
const auto clear_keys = [](Context& ctx) {
  ctx.clear_all_kv_values();
  return 0;
};
const auto set_status = [](Context& ctx) {
  ctx.set_custom_status("text");
  return 0;
};
const auto guid = [](Context& ctx) { return ctx.new_guid().start(); };
const auto now = [](Context& ctx) { return ctx.utc_now().start(); };
const auto nothing = [](Context& /*ctx*/) { return 0; };

/// The message of the replay when `before` became `after`; empty if it accepts the change.
template <class Before, class After>
std::string verdict(Before before, After after, core::ExecutionOptions options = {}) {
  Instance instance{doing(before), Mode::every_way, options};
  instance.start();
  instance.deploy(doing(after));
  instance.complete("A", "a");
  if (instance.status() == Status::completed) return {};
  EXPECT_EQ(instance.failure().kind, FailureKind::nondeterminism);
  return instance.failure().message;
}

auto differs(const char* recorded, const char* found) {
  return AllOf(HasSubstr(std::string("recorded: ") + recorded), HasSubstr(std::string("now:      ") + found));
}

TEST(NondeterministicActions, WaitsAreComparedByName) {
  EXPECT_THAT(verdict(wait("a"), wait("b")), differs("a wait for event \"a\"", "a wait for event \"b\""));
  EXPECT_THAT(verdict(dequeue("a"), dequeue("b")), differs("a wait on queue \"a\"", "a wait on queue \"b\""));
  EXPECT_THAT(verdict(wait("a"), dequeue("a")), differs("a wait for event \"a\"", "a wait on queue \"a\""));
  EXPECT_THAT(verdict(wait("a"), nothing), differs("a wait for event \"a\"", "activity \"A\""));
}

// The reference compares neither a child's version nor its id.
TEST(NondeterministicActions, ChildrenAreComparedByNameInputVersionAndChosenId) {
  EXPECT_EQ(verdict(child("a"), child("a")), "");
  EXPECT_THAT(verdict(child("a"), child("b")), differs("sub-orchestration \"a\"", "sub-orchestration \"b\""));
  EXPECT_THAT(verdict(child("a", "1"), child("a", "2")), HasSubstr("with input \"2\""));
  EXPECT_NE(verdict(child("a"), child("a", "", ChildOptions().version("2.0.0"))), "");
  EXPECT_THAT(verdict(child("a", "", ChildOptions().id("x")), child("a", "", ChildOptions().id("y"))),
              differs("sub-orchestration \"a\" with input \"\" as \"x\"",
                      "sub-orchestration \"a\" with input \"\" as \"y\""));
  EXPECT_NE(verdict(child("a", "", ChildOptions().id("x")), child("a")), "");
  EXPECT_NE(verdict(nothing, child("a")), "");
}

TEST(NondeterministicActions, DetachedStartsAreComparedByNameInstanceAndInput) {
  EXPECT_EQ(verdict(start("a", "x"), start("a", "x")), "");
  EXPECT_THAT(verdict(start("a", "x"), start("a", "y")),
              differs("a detached start of \"a\" as \"x\"", "a detached start of \"a\" as \"y\""));
  EXPECT_NE(verdict(start("a", "x"), start("b", "x")), "");
  EXPECT_NE(verdict(start("a", "x", "1"), start("a", "x", "2")), "");
  EXPECT_NE(verdict(start("a", "x"), nothing), "");
}

TEST(NondeterministicActions, KeyValuesAreComparedByKeyAndValue) {
  EXPECT_EQ(verdict(set_key("k", 1), set_key("k", 1)), "");
  EXPECT_THAT(verdict(set_key("k", 1), set_key("j", 1)), differs("setting key \"k\"", "setting key \"j\""));
  EXPECT_THAT(verdict(set_key("k", 1), set_key("k", 2)),
              differs("setting key \"k\" to 1", "setting key \"k\" to 2"));
  EXPECT_THAT(verdict(clear_key("k"), clear_key("j")), differs("clearing key \"k\"", "clearing key \"j\""));
  EXPECT_THAT(verdict(clear_keys, clear_key("k")), differs("clearing all keys", "clearing key \"k\""));
}

// The reference accepts a removed call when no other action is queued.
TEST(NondeterministicActions, ACallAddedOrRemovedIsFound) {
  EXPECT_THAT(verdict(set_status, nothing), differs("a custom status", "activity \"A\""));
  EXPECT_THAT(verdict(nothing, set_status), differs("activity \"A\"", "a custom status"));
  EXPECT_NE(verdict(set_key("k", 1), nothing), "");
  EXPECT_NE(verdict(nothing, clear_keys), "");
}

TEST(NondeterministicActions, RecordedValuesAreComparedByKind) {
  EXPECT_EQ(verdict(guid, guid), "");
  EXPECT_THAT(verdict(guid, now),
              differs("activity \"__duramen:new_guid\"", "activity \"__duramen:utc_now\""));
  EXPECT_NE(verdict(now, nothing), "");
  EXPECT_NE(verdict(nothing, now), "");
}

TEST(NondeterministicActions, AnotherInputIsAWarningIfThatIsWanted) {
  core::ExecutionOptions options;
  options.input_mismatch = core::ExecutionOptions::InputMismatch::warn;
  EXPECT_EQ(verdict(child("a", "1"), child("a", "2"), options), "");
  EXPECT_EQ(verdict(start("a", "x", "1"), start("a", "x", "2"), options), "");
  EXPECT_NE(verdict(child("a", "1"), child("b", "1"), options), "");

  Instance instance{doing(child("a", "1")), Mode::every_way, options};
  instance.start();
  instance.deploy(doing(child("a", "2")));
  instance.complete("A", "a");
  ASSERT_THAT(instance.turn().warnings, SizeIs(1));
  EXPECT_THAT(instance.turn().warnings[0],
              AllOf(HasSubstr("event 2"), HasSubstr("\"1\""), HasSubstr("\"2\"")));
}

// -- drops --------------------------------------------------------------------------------------------------

/// Drops what `step` gives when the timer fires, or keeps it.
template <class Step>
auto dropping(Step step, bool drop) {
  return [=](Context& ctx) -> Task<std::string> {
    std::optional held = step(ctx);
    co_await ctx.schedule_timer(1s);
    if (drop) held.reset();
    co_return co_await ctx.schedule_activity("A", "");
  };
}

template <class Step>
void expect_drops_are_compared(Step step, const char* event) {
  SCOPED_TRACE(event);
  Instance removed{dropping(step, true)};
  removed.start();
  removed.fire("1000ms");
  removed.deploy(dropping(step, false));
  removed.complete("A", "a");
  EXPECT_THAT(removed.failure().message, HasSubstr(std::string("dropped (") + event + ")"));

  Instance added{dropping(step, false)};
  added.start();
  added.fire("1000ms");
  added.deploy(dropping(step, true));
  added.complete("A", "a");
  EXPECT_THAT(added.failure().message, HasSubstr("it is dropped (dropped_future)"));
}

TEST(NondeterministicActions, DropsOfChildrenAndWaitsAreCompared) {
  expect_drops_are_compared(child("c"), "SubOrchestrationCancelRequested");
  expect_drops_are_compared(wait("w"), "ExternalSubscribedCancelled");
  expect_drops_are_compared(dequeue("q"), "ExternalSubscribedPersistentCancelled");
}

TEST(NondeterministicActions, AContinueWhereHistoryWaitsIsFound) {
  Instance instance{doing(nothing)};
  instance.start();
  instance.deploy([](Context& ctx) -> Task<std::string> {
    auto a = ctx.schedule_activity("A", "").start();
    co_return co_await ctx.continue_as_new("");
  });
  instance.complete("A", "a");
  EXPECT_EQ(instance.failure().kind, FailureKind::nondeterminism);
}

TEST(NondeterministicActions, AnAnswerForSomethingElseIsFound) {
  Instance instance{doing(wait("w"))};
  instance.start();
  ParentLink link{"instance", Incarnation{1}, ExecutionId{1}, EventId{2}};  // the wait
  instance.deliver({message::SubOrchestrationCompleted{link, Payload::none()}});
  EXPECT_EQ(instance.failure().kind, FailureKind::nondeterminism);
}

// The same for what has a value in a message of the reference that its replay never reads.
TEST(NondeterministicActions, EveryKindOfActionRemovedIsFound) {
  EXPECT_THAT(verdict(start("d", "x"), nothing), differs("a detached start of \"d\"", "activity \"A\""));
  EXPECT_THAT(verdict(child("c"), nothing), differs("sub-orchestration \"c\"", "activity \"A\""));
  EXPECT_THAT(verdict(wait("w"), nothing), differs("a wait for event \"w\"", "activity \"A\""));
  EXPECT_THAT(verdict(dequeue("q"), nothing), differs("a wait on queue \"q\"", "activity \"A\""));
  EXPECT_THAT(verdict(clear_key("k"), nothing), differs("clearing key \"k\"", "activity \"A\""));
  EXPECT_THAT(verdict(clear_keys, nothing), differs("clearing all keys", "activity \"A\""));
  EXPECT_THAT(verdict(set_status, clear_keys), differs("a custom status", "clearing all keys"));
}

}  // namespace
}  // namespace duramen::core_test
