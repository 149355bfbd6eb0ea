// The open waits of an instance, read from its history.
#include "client/history_scan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace duramen::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = Waiting::Kind;

class History {
 public:
  History& add(EventBody body, std::uint64_t source = 0) {
    const EventId id{events_.size() + 1};
    events_.push_back(
        {id, EventId{source}, from_unix_ms(1000 * static_cast<std::int64_t>(id.value)), std::move(body)});
    return *this;
  }
  /// Ids of the open steps.
  [[nodiscard]] std::vector<std::uint64_t> open() const {
    std::vector<std::uint64_t> ids;
    for (const Waiting& wait : read_steps(events_).open) ids.push_back(wait.event.value);
    return ids;
  }
  [[nodiscard]] HistoryScan steps() const { return read_steps(events_); }

 private:
  std::vector<Event> events_;
};

event::ActivityScheduled activity(std::string name) {
  event::ActivityScheduled e;
  e.name = std::move(name);
  return e;
}

TEST(HistoryScan, AnAnsweredStepIsNotOpen) {
  History h;
  h.add(event::OrchestrationStarted{}).add(activity("a")).add(activity("b")).add(event::TimerCreated{});
  EXPECT_THAT(h.open(), ElementsAre(2, 3, 4));
  h.add(event::ActivityCompleted{}, 3).add(event::TimerFired{}, 4);
  EXPECT_THAT(h.open(), ElementsAre(2));
  h.add(event::ActivityFailed{}, 2);
  EXPECT_THAT(h.open(), IsEmpty());
}

TEST(HistoryScan, ChildrenAreOpenUntilTheyAnswer) {
  event::SubOrchestrationScheduled child;
  child.name = "orch";
  child.instance = "c";
  History h;
  h.add(event::OrchestrationStarted{}).add(child).add(child);
  ASSERT_THAT(h.open(), ElementsAre(2, 3));
  EXPECT_EQ(h.steps().open[0].child, "c");
  h.add(event::SubOrchestrationCompleted{}, 2).add(event::SubOrchestrationFailed{}, 3);
  EXPECT_THAT(h.open(), IsEmpty());
}

TEST(HistoryScan, AnEventGoesToTheOldestWaitOfItsName) {
  History h;
  h.add(event::OrchestrationStarted{})
      .add(event::ExternalSubscribed{"x"})
      .add(event::ExternalSubscribed{"y"})
      .add(event::ExternalSubscribed{"x"})
      .add(event::ExternalEvent{"x", {}});
  EXPECT_THAT(h.open(), ElementsAre(3, 4));
}

TEST(HistoryScan, AnEventThatCameBeforeItsWaitIsTakenByIt) {
  History h;
  h.add(event::OrchestrationStarted{}).add(event::ExternalEvent{"x", {}}).add(event::ExternalSubscribed{"x"});
  EXPECT_THAT(h.open(), IsEmpty());
  h.add(event::ExternalSubscribed{"x"});
  EXPECT_THAT(h.open(), ElementsAre(4));
}

TEST(HistoryScan, EventsAndQueuesOfOneNameAreSeparate) {
  History h;
  h.add(event::OrchestrationStarted{}).add(event::ExternalSubscribed{"x"}).add(event::QueueSubscribed{"x"});
  h.add(event::QueueEventDelivered{"x", {}});
  EXPECT_THAT(h.open(), ElementsAre(2));
}

TEST(HistoryScan, CarriedEventsAreTakenFirst) {
  event::OrchestrationStarted started;
  started.carry_forward = {{CarriedEvent::Kind::queue, "q", {}}, {CarriedEvent::Kind::external, "e", {}}};
  History h;
  h.add(started)
      .add(event::QueueSubscribed{"q"})
      .add(event::ExternalSubscribed{"e"})
      .add(event::QueueSubscribed{"q"});
  EXPECT_THAT(h.open(), ElementsAre(4));
}

TEST(HistoryScan, ADroppedWaitTakesNothingAndLeavesItsReason) {
  History h;
  h.add(event::OrchestrationStarted{})
      .add(event::ExternalSubscribed{"x"})
      .add(event::ExternalSubscribed{"x"})
      .add(event::ExternalSubscribedCancelled{CancelReason::select_loser}, 2)
      .add(event::ExternalEvent{"x", {}});
  EXPECT_THAT(h.open(), IsEmpty());
  const HistoryScan steps = h.steps();
  ASSERT_EQ(steps.cancelled.size(), 1u);
  EXPECT_EQ(steps.cancelled[0].kind, Kind::event);
  EXPECT_EQ(steps.cancelled[0].event, EventId{2});
  EXPECT_EQ(steps.cancelled[0].reason, CancelReason::select_loser);
  EXPECT_EQ(steps.cancelled[0].at, from_unix_ms(4000));
}

TEST(HistoryScan, ACancelledActivityIsNotOpenEvenIfItsResultComes) {
  History h;
  h.add(event::OrchestrationStarted{}).add(activity("a"));
  h.add(event::ActivityCancelRequested{CancelReason::dropped_future}, 2).add(event::ActivityCompleted{}, 2);
  EXPECT_THAT(h.open(), IsEmpty());
  EXPECT_EQ(h.steps().cancelled.at(0).name, "a");
}

TEST(HistoryScan, NothingIsOpenAfterTheEnd) {
  for (const EventBody& end :
       {EventBody(event::OrchestrationCompleted{}), EventBody(event::OrchestrationFailed{}),
        EventBody(event::OrchestrationContinuedAsNew{})}) {
    History h;
    h.add(event::OrchestrationStarted{}).add(event::TimerCreated{}).add(end);
    EXPECT_THAT(h.open(), IsEmpty());
  }
}

TEST(HistoryScan, TheLastStopRequestCounts) {
  event::OrchestrationStarted started;
  started.parent = ParentLink{"mum", {}, ExecutionId{1}, EventId{2}};
  History h;
  h.add(started)
      .add(event::OrchestrationCancelRequested{"please", CancelMode::graceful, CancelOrigin::client})
      .add(event::OrchestrationCancelRequested{"select_loser", CancelMode::terminate, CancelOrigin::parent});
  const HistoryScan steps = h.steps();
  ASSERT_TRUE(steps.cancel_request);
  EXPECT_EQ(steps.cancel_request->reason, "select_loser");
  EXPECT_EQ(steps.cancel_request->parent, InstanceId{"mum"});
  EXPECT_EQ(steps.cancel_request->at, from_unix_ms(3000));
}

}  // namespace
}  // namespace duramen::client
