// The cost of a completion does not depend on the number of open operations: counted in calls, not in time.

#include "core/harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace duramen::core_test {

/// A result that counts how often it is read.
struct Counted {
  static inline int reads = 0;
};

}  // namespace duramen::core_test

template <>
struct duramen::Codec<duramen::core_test::Counted> {
  static Payload encode(const core_test::Counted&) { return Payload::none(); }
  static core_test::Counted decode(const Payload&) {
    ++core_test::Counted::reads;
    return {};
  }
};

namespace duramen::core_test {
namespace {

using testing::SizeIs;

std::vector<EventId> sent_by(const core::TurnOutcome& turn) {
  std::vector<EventId> ids;
  for (const ActivityRequest& activity : turn.activities) ids.push_back(activity.key.activity);
  return ids;
}

Task<void> work_for_ever(Context& ctx, int* resumed) {
  for (;;) {
    co_await ctx.schedule_activity<void>("Step", "");
    ++*resumed;
  }
}

class SteadyCost : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Open, SteadyCost, testing::Values(3, 300));

TEST_P(SteadyCost, ACompletionResumesTheOneTaskThatWaitsForIt) {
  int resumed = 0;
  Instance instance{[&resumed](Context& ctx, int size) -> Task<void> {
                      std::vector<Task<void>> tasks;
                      for (int i = 0; i < size; ++i) tasks.push_back(work_for_ever(ctx, &resumed));
                      co_await ctx.join(std::move(tasks));
                    },
                    Mode::resident};
  const std::vector<EventId> open = sent_by(instance.start(GetParam()));
  ASSERT_THAT(open, SizeIs(GetParam()));
  for (const EventId id : {open.back(), open.front(), open[open.size() / 2]}) {
    const int before = resumed;
    EXPECT_THAT(instance.complete(id).events, SizeIs(2))
        << "its completion, and what its task schedules next";
    EXPECT_EQ(resumed - before, 1);
  }
}

TEST_P(SteadyCost, AJoinReadsEachResultOnceWhenTheLastHasCome) {
  Instance instance{[](Context& ctx, int size) -> Task<std::size_t> {
                      std::vector<DurableFuture<Counted>> steps;
                      for (int i = 0; i < size; ++i)
                        steps.push_back(ctx.schedule_activity<Counted>("Step", i));
                      auto results = co_await ctx.join(std::move(steps));
                      co_return results.size();
                    },
                    Mode::resident};
  std::vector<MessageBody> completions;
  for (const EventId id : sent_by(instance.start(GetParam()))) {
    completions.push_back(message::ActivityCompleted{ExecutionId{1}, id, Payload::none()});
  }
  const MessageBody last = std::move(completions.back());
  completions.pop_back();
  Counted::reads = 0;
  instance.deliver(std::move(completions));
  EXPECT_EQ(Counted::reads, 0);
  EXPECT_EQ(instance.deliver({last}).status, Status::completed);
  EXPECT_EQ(Counted::reads, GetParam());
}

}  // namespace
}  // namespace duramen::core_test
