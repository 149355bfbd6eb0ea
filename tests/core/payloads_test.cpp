// Data that no store can hold is refused where the code gives it, on every replay alike.

#include "core/harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <source_location>
#include <string>
#include <vector>

namespace duramen::core_test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::size_t limit = 100;

struct Entry {
  const char* what;
  std::size_t limit;
  std::function<Task<void>(Context&, std::string)> give;
};

RetryPolicy thrice() {
  RetryPolicy policy;
  policy.attempts(3);
  return policy;
}

/// Every call of an orchestration that takes data. Those that wait for an answer are only begun.
const std::vector<Entry>& entries() {
  static const std::vector<Entry> all{
      {"activity", limit,
       [](Context& ctx, std::string data) -> Task<void> {
         auto future = ctx.schedule_activity("A", data);
         co_await std::move(future);
       }},
      {"activity with retries", limit,
       [](Context& ctx, std::string data) -> Task<void> {
         auto future = ctx.schedule_activity("A", data).with_retry(thrice());
         co_await std::move(future);
       }},
      {"child", limit,
       [](Context& ctx, std::string data) -> Task<void> {
         auto future = ctx.schedule_sub_orchestration("greet", data);
         co_await std::move(future);
       }},
      {"detached start", limit,
       [](Context& ctx, std::string data) -> Task<void> {
         ctx.schedule_orchestration("greet", "other", data);
         co_return;
       }},
      {"next input", limit,
       [](Context& ctx, std::string data) -> Task<void> {
         auto future = ctx.continue_as_new(data);
         co_await std::move(future);
       }},
      {"custom status", max_custom_status_bytes,
       [](Context& ctx, std::string data) -> Task<void> {
         ctx.set_custom_status(data);
         co_return;
       }},
      {"value of a key", max_key_value_bytes,
       [](Context& ctx, std::string data) -> Task<void> {
         ctx.set_kv_value("k", data);
         co_return;
       }},
  };
  return all;
}

core::ExecutionOptions small() {
  core::ExecutionOptions options;
  options.max_payload_bytes = limit;
  return options;
}

/// Gives the data and catches the refusal, then does something else: a replay gets past it.
std::string refusal(const Entry& entry, const std::string& data) {
  Instance instance{[&](Context& ctx) -> Task<std::string> {
                      std::string error = "accepted";
                      try {
                        co_await entry.give(ctx, data);
                      } catch (const LimitError&) {
                        error = "LimitError";
                      } catch (const DurableError& refused) {
                        error = refused.failure().type;
                      }
                      co_await ctx.schedule_activity("After", "");
                      co_return error;
                    },
                    Mode::every_way, small()};
  instance.start();
  if (instance.history().size() != 2) return "it stands in history";
  instance.complete("After", "");
  return instance.status() == Status::completed ? instance.output() : instance.failure().describe();
}

TEST(Payloads, ATooLargeOneIsALimitErrorThatTheCodeCanCatch) {
  for (const Entry& entry : entries())
    EXPECT_EQ(refusal(entry, std::string(entry.limit + 1, 'x')), "LimitError") << entry.what;
}

TEST(Payloads, TheLargestOneIsAccepted) {
  for (const Entry& entry : entries()) {
    Instance instance{[&](Context& ctx) -> Task<std::string> {
                        co_await entry.give(ctx, std::string(entry.limit, 'x'));
                        co_return "given";
                      },
                      Mode::every_way, small()};
    instance.start();
    EXPECT_NE(instance.status(), Status::failed) << entry.what << ": " << instance.failure().describe();
    EXPECT_GE(instance.history().size(), 2u) << entry.what;
  }
}

TEST(Payloads, InvalidTextIsAnErrorThatTheCodeCanCatch) {
  for (const Entry& entry : entries()) {
    EXPECT_EQ(refusal(entry, std::string("a\0b", 3)), "InvalidPayload") << entry.what;
    EXPECT_EQ(refusal(entry, "a\xFFz"), "InvalidPayload") << entry.what;
  }
}

TEST(Payloads, AnUncaughtRefusalFailsTheInstanceAndNamesTheLine) {
  const auto line = std::source_location::current().line() + 2;
  Instance instance{[](Context& ctx) -> Task<std::string> {
                      co_return co_await ctx.schedule_activity("A", std::string(limit + 1, 'x'));
                    },
                    Mode::every_way, small()};
  instance.start();
  EXPECT_EQ(instance.failure().kind, FailureKind::limit);
  EXPECT_THAT(instance.failure().message,
              AllOf(HasSubstr("the input of activity 'A'"), HasSubstr("101 bytes"),
                    testing::EndsWith("payloads_test.cpp:" + std::to_string(line))));

  for (const Entry& entry : entries()) {
    Instance invalid{[&](Context& ctx) -> Task<std::string> {
      co_await entry.give(ctx, "a\xFFz");
      co_return "given";
    }};
    invalid.start();
    EXPECT_EQ(invalid.failure().type, "InvalidPayload") << entry.what;
    EXPECT_THAT(invalid.failure().message, HasSubstr("payloads_test.cpp:")) << entry.what;
  }
}

// Its text may become the input of an activity, and lines move with every edit.
TEST(Payloads, TheCaughtErrorDoesNotNameTheLine) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    try {
      ctx.set_custom_status("a\xFFz");
    } catch (const DurableError& error) {
      co_return error.what();
    }
    co_return "accepted";
  }};
  instance.start();
  EXPECT_THAT(instance.output(), testing::Not(HasSubstr("payloads_test.cpp")));
}

TEST(Payloads, ATooLargeResultFailsTheInstance) {
  const auto returns = [](std::size_t bytes) {
    return [bytes](Context&) -> Task<std::string> { co_return std::string(bytes, 'x'); };
  };
  Instance fits{returns(limit), Mode::every_way, small()};
  fits.start();
  EXPECT_EQ(fits.output(), std::string(limit, 'x'));
  Instance larger{returns(limit + 1), Mode::every_way, small()};
  larger.start();
  EXPECT_EQ(larger.failure().kind, FailureKind::limit);
  EXPECT_THAT(larger.failure().message, HasSubstr("the result"));
}

// Code that had caught the LimitError would take another way under a higher limit.
TEST(Payloads, AnExecutionKeepsTheLimitUnderWhichItBegan) {
  const auto code = [](Context& ctx) -> Task<std::string> {
    bool refused = false;
    try {
      co_await ctx.schedule_activity("Large", std::string(limit + 1, 'x'));
    } catch (const LimitError&) {
      refused = true;
    }
    if (!refused) co_return "";
    co_return co_await ctx.schedule_activity("Small", "");
  };
  for (const std::size_t later : {limit - 1, limit + 1, default_payload_limit}) {
    Instance before{handler_of(code), Mode::fresh, small()};
    before.start();
    ASSERT_THAT(before.worker_queue(), ElementsAre("Small"));
    core::ExecutionOptions options;
    options.max_payload_bytes = later;
    Instance after{handler_of(code), Mode::fresh, options};
    after.forge(before.history());
    after.complete("Small", "as before");
    EXPECT_EQ(after.output(), "as before") << later;
  }
}

// A replay compares a call with the next event, and may find it similar enough.
TEST(Payloads, ARefusedCallIsNotTakenForALaterOneThatIsAlike) {
  core::ExecutionOptions options = small();
  options.input_mismatch = core::ExecutionOptions::InputMismatch::warn;
  Instance instance{[](Context& ctx) -> Task<std::string> {
                      int refused = 0;
                      const auto attempt = [&refused](const auto& call) {
                        try {
                          call();
                        } catch (const DurableError&) {
                          ++refused;
                        }
                      };
                      attempt([&] { ctx.set_custom_status("a\xFFz"); });
                      ctx.set_custom_status("a?z");
                      const Payload padded = Payload::json("[1," + std::string(limit, ' ') + "2]");
                      attempt([&] { ctx.schedule_activity("A", padded).detach(); });
                      ctx.schedule_activity("A", Payload::json("[1,2]")).detach();
                      attempt([&] { ctx.schedule_activity("B", "a\xFFz").detach(); });
                      ctx.schedule_activity("B", "a?z").detach();
                      co_await ctx.schedule_activity("After", "");
                      co_return std::to_string(refused);
                    },
                    Mode::every_way, options};
  instance.start();
  instance.complete("After", "");
  EXPECT_EQ(instance.output(), "3");
}

TEST(Payloads, CodeThatTriesAgainAndAgainIsStopped) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
                      while (true) {
                        auto next = ctx.continue_as_new(std::string(limit + 1, 'x')).as_result();
                        (void)co_await std::move(next);
                      }
                    },
                    Mode::every_way, small()};
  instance.start();
  EXPECT_EQ(instance.failure().type, "TooManyActions");
}

TEST(Traces, AnyTextIsWrittenAndALongOneIsCut) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    ctx.trace_info(std::string("a\0b\xFF", 4));
    ctx.trace_info(std::string(max_trace_bytes, 'x'));
    ctx.trace_info(std::string(max_trace_bytes + 1, 'x'));
    co_return "";
  }};
  instance.start();
  ASSERT_THAT(instance.turn().traces, SizeIs(3));
  EXPECT_EQ(instance.turn().traces[0].text,
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
  EXPECT_EQ(instance.turn().traces[1].text, std::string(max_trace_bytes, 'x'));
  EXPECT_EQ(instance.turn().traces[2].text.size(), max_trace_bytes);
  EXPECT_TRUE(instance.turn().traces[2].text.ends_with("(cut: it had 65537 bytes)"));
}

// -- time ---------------------------------------------------------------------------------------------------

TEST(LongTimers, NoTimerIsDueAfterTheLastYear) {
  const auto due = [](auto delay) {
    Instance instance{[delay](Context& ctx) -> Task<std::string> {
      auto timer = ctx.schedule_timer(delay);
      co_await std::move(timer);
      co_return "fired";
    }};
    instance.start();
    const Event created = instance.events<event::TimerCreated>().at(0);
    return std::get<event::TimerCreated>(created.body).fire_at;
  };
  const Duration longest = latest_timer - from_unix_ms(1'000'000);  // the clock of a new instance
  EXPECT_EQ(due(longest - 1ms), latest_timer - 1ms);
  EXPECT_EQ(due(longest), latest_timer);
  EXPECT_EQ(due(longest + 1ms), latest_timer);
  EXPECT_EQ(due(Duration::max()), latest_timer);
  EXPECT_EQ(due(std::chrono::hours::max()), latest_timer);
  EXPECT_EQ(due(std::chrono::hours::min()), from_unix_ms(1'000'000));
}

TEST(LongTimers, AClockAfterTheLastYearDoesNotOverflow) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto timer = ctx.schedule_timer(std::chrono::hours::max());
    co_await std::move(timer);
    co_return "fired";
  }};
  instance.advance(latest_timer - instance.now() + 24h);
  instance.start();
  const Event created = instance.events<event::TimerCreated>().at(0);
  EXPECT_EQ(std::get<event::TimerCreated>(created.body).fire_at, instance.now());
}

}  // namespace
}  // namespace duramen::core_test
