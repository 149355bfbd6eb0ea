// The form in which a turn's events are stored.

#include "format/samples.hpp"
#include <duramen/history.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace duramen {
namespace {

using testing::HasSubstr;

const InstanceId order{"order-1"};
const EventContext here{order, ExecutionId{4}};

std::vector<Event> decoded(const std::string& stored) {
  std::vector<Event> events;
  const Result<void> result = decode_events(stored, here, events);
  EXPECT_TRUE(result) << result.error().describe();
  return events;
}

std::string problem_of(std::string_view stored) {
  std::vector<Event> events(2);
  const Result<void> result = decode_events(stored, here, events);
  EXPECT_EQ(events.size(), 2U) << "what was there must stay";
  if (result) return "no problem";
  EXPECT_EQ(result.error().code, ErrorCode::corrupt);
  EXPECT_EQ(result.error().operation, "decode_events");
  return result.error().message;
}

TEST(StoredEvents, CanBeReadByAPerson) {
  const std::vector<Event> events{
      {EventId{2}, EventId{}, samples::at(0),
       event::ActivityScheduled{"Charge", Payload::json("{\"id\":7}"), {}, {}, {}}},
      {EventId{3}, EventId{}, samples::at(0), event::TimerCreated{samples::at(60'000)}},
      {EventId{4}, EventId{2}, samples::at(12), event::ActivityCompleted{Payload::text("ok")}},
  };
  EXPECT_EQ(encode_events(events),
            R"([2,1767225600000,{"e":"ActivityScheduled","n":"Charge","ij":"{\"id\":7}"},)"
            R"({"e":"TimerCreated","at":1767225660000},{"e":"ActivityCompleted","s":2,"t":12,"r":"ok"}])");
  EXPECT_EQ(decoded(encode_events(events)), events);
}

TEST(StoredEvents, AnAttemptAndItsDetailsAreShort) {
  const std::vector<Event> events{
      {EventId{2}, EventId{1}, samples::at(0),
       event::ActivityFailed{
           Failure::application("E", "no"), {samples::at(-5), 2, NodeId{"n1"}}, Payload::json("7")}},
      {EventId{3}, EventId{}, samples::at(0),
       event::ActivityScheduled{"Charge", Payload::text("x"), {}, {}, {}, EventId{1}, 2, Payload::json("7")}},
  };
  EXPECT_EQ(encode_events(events),
            R"([2,1767225600000,{"e":"ActivityFailed","s":1,"d":{"k":"application","y":"E","m":"no"},)"
            R"("ran":[1767225599995,2,"n1"],"hbj":"7"},)"
            R"({"e":"ActivityScheduled","n":"Charge","i":"x","ro":1,"ab":2,"hbj":"7"}])");
  EXPECT_EQ(decoded(encode_events(events)), events);
}

TEST(StoredEvents, EveryKindComesBackAsItWas) {
  std::vector<Event> events;
  std::uint64_t id = 1;
  for (const EventBody& body : samples::event_bodies()) {
    events.push_back({EventId{id}, EventId{id / 2}, samples::at(static_cast<std::int64_t>(id % 7)), body});
    ++id;
  }
  EXPECT_EQ(decoded(encode_events(events)), events);
  for (const Event& event : events) EXPECT_EQ(decoded(encode_events({event})), std::vector<Event>{event});
}

TEST(StoredEvents, NumbersAndTimesNeedNotBeInOrder) {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  const std::vector<Event> events{
      {EventId{7}, EventId{}, samples::at(0), event::KeyValuesCleared{}},
      {EventId{3}, EventId{}, samples::at(-500), event::KeyValuesCleared{}},
      {EventId{0}, EventId{most}, TimePoint::min(), event::KeyValuesCleared{}},
      {EventId{most}, EventId{1}, TimePoint::max(), event::KeyValuesCleared{}},
      {EventId{0}, EventId{1}, TimePoint::min(), event::KeyValuesCleared{}},
  };
  EXPECT_EQ(decoded(encode_events(events)), events);
}

TEST(StoredEvents, NoEventsAreAnEmptyArray) {
  EXPECT_EQ(encode_events({}), "[]");
  EXPECT_TRUE(decoded("[]").empty());
}

TEST(StoredEvents, DecodingAppends) {
  const Event first{EventId{1}, EventId{}, samples::at(0), event::KeyValuesCleared{}};
  const Event second{EventId{2}, EventId{}, samples::at(0), event::KeyValuesCleared{}};
  std::vector<Event> events;
  ASSERT_TRUE(decode_events(encode_events({first}), here, events));
  ASSERT_TRUE(decode_events(encode_events({second}), here, events));
  EXPECT_EQ(events, (std::vector<Event>{first, second}));
}

TEST(StoredEvents, UnknownFieldsAreIgnored) {
  EXPECT_EQ(decoded(R"([1,0,{"e":"KeyValuesCleared","new":[1,{"a":2}]}])").size(), 1U);
}

TEST(StoredEvents, AProblemNamesInstanceExecutionEventAndField) {
  EXPECT_EQ(problem_of(R"([5,0,{"e":"KeyValuesCleared"},{"e":"KeyValueCleared"}])"),
            "instance 'order-1', execution 4, event 6: KeyValueCleared: field 'k' is missing");
  EXPECT_EQ(problem_of(R"([5,0,{"e":"Melted"}])"),
            "instance 'order-1', execution 4, event 5: unknown type 'Melted'");
}

TEST(StoredEvents, EverythingElseIsCorrupt) {
  for (const char* stored : {"",
                             "null",
                             "{}",
                             "7",
                             "[1]",
                             "[1,2.5]",
                             "[\"1\",2]",
                             "[-1,2]",
                             "[1,2,3]",
                             "[1,2,null]",
                             "[1,2,{}]",
                             R"([1,2,{"e":7}])",
                             R"([1,2,{"e":"KeyValuesCleared","id":-1}])",
                             R"([1,2,{"e":"KeyValuesCleared","s":"x"}])",
                             R"([1,2,{"e":"KeyValuesCleared","t":0.5}])",
                             R"([1,2,{"e":"ActivityFailed","d":{"k":"odd"}}])",
                             R"([1,2,{"e":"ActivityFailed","d":7}])",
                             R"([1,2,{"e":"ActivityFailed","d":{"k":"timeout","w":"odd"}}])",
                             R"([1,2,{"e":"OrchestrationStarted","n":"A","v":"1","i":"","p":["x",1,2]}])",
                             R"([1,2,{"e":"ActivityScheduled","n":"A"}])",
                             R"([1,2,{"e":"ActivityScheduled","n":"A","i":"","hb":7}])",
                             R"([1,2,{"e":"ActivityCompleted","r":"","ran":7}])",
                             R"([1,2,{"e":"ActivityCompleted","r":"","ran":[1,2]}])",
                             R"([1,2,{"e":"ActivityCompleted","r":"","ran":[1,-2,"n"]}])",
                             R"([1,2,{"e":"ActivityCompleted","r":"","ran":[1,4294967296,"n"]}])",
                             R"([1,2,{"e":"OrchestrationStarted","n":"A","v":"1","i":"","cancel":7}])",
                             "[1,2,{\"e\":\"KeyValueCleared\",\"k\":\"\xFF\"}]"}) {
    EXPECT_THAT(problem_of(stored), HasSubstr("instance 'order-1', execution 4")) << stored;
  }
}

TEST(StoredEvents, NoDamageByAByteDoesWorseThanAnError) {
  std::vector<Event> events;
  for (const EventBody& body : samples::event_bodies())
    events.push_back({EventId{1}, EventId{1}, samples::at(0), body});
  for (const Event& event : events) {
    const std::string stored = encode_events({event});
    for (std::size_t i = 0; i < stored.size(); ++i) {
      for (const char byte : {'"', '0', '}', '\\', '\x01', '\xE2'}) {
        std::string damaged = stored;
        damaged[i] = byte;
        std::vector<Event> out;
        (void)decode_events(damaged, here, out);
      }
    }
  }
}

}  // namespace
}  // namespace duramen
