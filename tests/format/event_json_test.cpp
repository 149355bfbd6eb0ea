// Events as interchange JSON.

#include "base/version.hpp"
#include "format/samples.hpp"
#include <duramen/history.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace duramen {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const InstanceId order{"order-1"};
const EventContext here{order, ExecutionId{1}};

// One example per kind, as the reference writes them.
const std::
    vector<std::string>
        reference_examples{
            R"({"event_id":1,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"OrchestrationStarted","name":"ProcessOrder","version":"1.0.0","input":"{\"id\":7}","parent_instance":null,"parent_id":null})",
            R"({"event_id":1,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"OrchestrationStarted","name":"ProcessOrder","version":"1.0.0","input":"next","parent_instance":null,"parent_id":null,"carry_forward_events":[["config","v2"]],"initial_custom_status":"50%"})",
            R"({"event_id":9,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"OrchestrationCompleted","output":"done"})",
            R"({"event_id":9,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"OrchestrationFailed","details":{"Application":{"kind":"OrchestrationFailed","message":"boom","retryable":false}}})",
            R"({"event_id":9,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"OrchestrationContinuedAsNew","input":"next"})",
            R"({"event_id":4,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"OrchestrationCancelRequested","reason":"user request"})",
            R"({"event_id":2,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"ActivityScheduled","name":"Charge","input":"42"})",
            R"({"event_id":2,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"ActivityScheduled","name":"Render","input":"42","session_id":"s-1","tag":"gpu"})",
            R"({"event_id":3,"source_event_id":2,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"ActivityCompleted","result":"ok"})",
            R"({"event_id":3,"source_event_id":2,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"ActivityFailed","details":{"Application":{"kind":"ActivityFailed","message":"card declined","retryable":false}}})",
            R"({"event_id":5,"source_event_id":2,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"ActivityCancelRequested","reason":"dropped_future"})",
            R"({"event_id":2,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"TimerCreated","fire_at_ms":1767225660000})",
            R"({"event_id":3,"source_event_id":2,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225660005,"duroxide_version":"0.1.26","type":"TimerFired","fire_at_ms":1767225660000})",
            R"({"event_id":2,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"ExternalSubscribed","name":"Approval"})",
            R"({"event_id":3,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"ExternalEvent","name":"Approval","data":"yes"})",
            R"({"event_id":4,"source_event_id":2,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"ExternalSubscribedCancelled","reason":"orchestration_terminal"})",
            R"({"event_id":2,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"ExternalSubscribedPersistent","name":"inbox"})",
            R"({"event_id":3,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"ExternalEventPersistent","name":"inbox","data":"m1"})",
            R"({"event_id":4,"source_event_id":2,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"ExternalSubscribedPersistentCancelled","reason":"dropped_future"})",
            R"({"event_id":2,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"OrchestrationChained","name":"Audit","instance":"audit-1","input":"x"})",
            R"({"event_id":2,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"SubOrchestrationScheduled","name":"Ship","instance":"sub::2","input":"x"})",
            R"({"event_id":3,"source_event_id":2,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"SubOrchestrationCompleted","result":"shipped"})",
            R"({"event_id":3,"source_event_id":2,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"SubOrchestrationFailed","details":{"Application":{"kind":{"Cancelled":{"reason":"parent canceled"}},"message":"","retryable":false}}})",
            R"({"event_id":4,"source_event_id":2,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"SubOrchestrationCancelRequested","reason":"dropped_future"})",
            R"({"event_id":2,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"CustomStatusUpdated","status":"50%"})",
            R"({"event_id":3,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"CustomStatusUpdated","status":null})",
            R"({"event_id":2,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"KeyValueSet","key":"n","value":"1","last_updated_at_ms":1767225600000})",
            R"({"event_id":3,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"KeyValueCleared","key":"n"})",
            R"({"event_id":4,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":1767225600000,"duroxide_version":"0.1.26","type":"KeyValuesCleared"})",
        };

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const auto found = text.find(from);
  EXPECT_NE(found, std::string::npos) << "no '" << from << "' in " << text;
  return found == std::string::npos ? text : text.replace(found, from.size(), to);
}

// Our output for a reference example: our stamp, the engine version, and a reason with the kind of end.
std::string as_we_write_it(std::string example) {
  example = replaced(example, R"("duroxide_version":"0.1.26")",
                     R"("duramen_version":")" + std::string{base::library_version} + "\"");
  if (example.find("\"OrchestrationStarted\"") != std::string::npos) {
    example = example.substr(0, example.size() - 1) + R"(,"engine_version":1})";
  }
  if (example.find("\"orchestration_terminal\"") != std::string::npos) {
    example = replaced(example, "\"orchestration_terminal\"", "\"orchestration_terminal_completed\"");
  }
  return example;
}

std::string problem_of(std::string_view json) {
  const Result<Event> event = event_from_json(json, here);
  if (event) return "no problem";
  EXPECT_EQ(event.error().code, ErrorCode::corrupt);
  EXPECT_FALSE(event.error().retryable);
  return event.error().message;
}

const std::string timer =
    R"({"event_id":2,"source_event_id":null,"instance_id":"order-1","execution_id":1,"timestamp_ms":5,"duramen_version":"0.1.0","type":"TimerCreated","fire_at_ms":9})";

TEST(EventJson, ReadsEveryExampleOfTheReferenceAndWritesItInTheSameOrder) {
  for (const std::string& example : reference_examples) {
    const Result<Event> event = event_from_json(example, here);
    ASSERT_TRUE(event) << event.error().describe();
    EXPECT_EQ(to_json(*event, here), as_we_write_it(example));
  }
}

TEST(EventJson, TheExamplesCoverEveryKind) {
  std::set<std::size_t> kinds;
  for (const std::string& example : reference_examples) {
    const Result<Event> event = event_from_json(example, here);
    ASSERT_TRUE(event);
    kinds.insert(event->body.index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<EventBody>);
}

TEST(EventJson, EveryKindComesBackAsItWas) {
  std::set<std::size_t> kinds;
  for (const EventBody& body : samples::event_bodies()) {
    kinds.insert(body.index());
    const Event event{EventId{5}, EventId{2}, samples::at(3), body};
    const std::string json = to_json(event, here);
    const Result<Event> read = event_from_json(json, here);
    ASSERT_TRUE(read) << read.error().describe() << "\n" << json;
    EXPECT_EQ(*read, event) << json << "\n" << to_json(*read, here);
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<EventBody>);
}

TEST(EventJson, EmptyAdditionsAreLeftOut) {
  const Event event{EventId{2}, EventId{}, samples::at(0),
                    event::ActivityScheduled{"A", Payload::text("x"), {}, {}, {}}};
  EXPECT_THAT(to_json(event, here),
              testing::EndsWith(R"("type":"ActivityScheduled","name":"A","input":"x"})"));
}

TEST(EventJson, AdditionsFollowTheFieldTheyBelongTo) {
  const Event scheduled{
      EventId{2}, EventId{}, samples::at(0),
      event::ActivityScheduled{"A", Payload::json("1"), {}, "gpu", {Duration{0}, Duration{70}, Duration{0}}}};
  EXPECT_THAT(
      to_json(scheduled, here),
      testing::EndsWith(
          R"("name":"A","input":"1","input_encoding":"json","tag":"gpu","options":{"start_to_close_ms":70}})"));
  const Event cancel{EventId{2}, EventId{}, samples::at(0),
                     event::OrchestrationCancelRequested{"r", CancelMode::terminate, CancelOrigin::parent}};
  EXPECT_THAT(to_json(cancel, here),
              testing::EndsWith(R"("reason":"r","mode":"terminate","origin":"parent"})"));
}

TEST(EventJson, TheAttemptAndThePersonAreFlatFields) {
  const auto json = [](EventBody body) {
    return to_json(Event{EventId{3}, EventId{2}, samples::at(0), std::move(body)}, here);
  };
  EXPECT_THAT(json(event::ActivityCompleted{Payload::text("ok"), {from_unix_ms(17), 2, NodeId{"n1"}}}),
              testing::EndsWith(
                  R"("type":"ActivityCompleted","result":"ok","started_at_ms":17,"attempt":2,"node":"n1"})"));
  EXPECT_THAT(
      json(event::ActivityScheduled{"A", Payload::text("x"), {}, {}, {}, EventId{2}, 3, Payload::json("7")}),
      testing::EndsWith(
          R"("input":"x","retry_of":2,"attempts_before":3,"heartbeat":"7","heartbeat_encoding":"json"})"));
  EXPECT_THAT(json(event::ExternalEvent{"E", Payload::text("x"), "alice"}),
              testing::EndsWith(R"("name":"E","data":"x","requested_by":"alice"})"));
  event::OrchestrationStarted started;
  started.cancel = event::OrchestrationCancelRequested{"late", {}, {}, "alice"};
  EXPECT_THAT(json(started), testing::EndsWith(R"("cancel":{"reason":"late","requested_by":"alice"}})"));
}

TEST(EventJson, FieldsMayComeInAnyOrderAndUnknownOnesAreIgnored) {
  const Result<Event> event = event_from_json(
      R"( {"fire_at_ms" : 9, "what":{"is":["this"]}, "type":"TimerCreated","duramen_version":"9.9","timestamp_ms":5,
           "execution_id":1,"instance_id":"order-1","event_id":2} )",
      here);
  ASSERT_TRUE(event) << event.error().describe();
  EXPECT_EQ(*event, (Event{EventId{2}, EventId{}, from_unix_ms(5), event::TimerCreated{from_unix_ms(9)}}));
}

TEST(EventJson, AFieldIsFoundBehindAnyNumberOfUnknownOnes) {
  std::string json = "{";
  for (int i = 0; i < 100; ++i) json.append("\"unknown" + std::to_string(i) + "\":null,");
  const Result<Event> event = event_from_json(json + timer.substr(1), here);
  ASSERT_TRUE(event) << event.error().describe();
  EXPECT_EQ(event->id, EventId{2});
}

TEST(EventJson, AnEmptyListOfCarriedEventsIsTheSameAsNone) {
  const std::string with_list = replaced(reference_examples[1], R"("carry_forward_events":[["config","v2"]])",
                                         R"("carry_forward_events":[])");
  const Result<Event> event = event_from_json(with_list, here);
  ASSERT_TRUE(event);
  EXPECT_TRUE(std::get<event::OrchestrationStarted>(event->body).carry_forward.empty());
}

TEST(EventJson, ContractFieldsWithDefaultsMayBeMissing) {
  const Result<Event> event = event_from_json(
      R"({"event_id":2,"instance_id":"","execution_id":0,"timestamp_ms":5,"duroxide_version":"0","type":"KeyValueSet","key":"k","value":"v"})",
      here);
  ASSERT_TRUE(event) << event.error().describe();
  EXPECT_EQ(std::get<event::KeyValueSet>(event->body).last_updated_at, TimePoint{});
}

TEST(EventJson, AProblemNamesInstanceExecutionEventAndField) {
  const std::string problem = problem_of(replaced(timer, R"("fire_at_ms":9)", R"("fire_at_ms":"9")"));
  EXPECT_EQ(problem,
            "instance 'order-1', execution 1, event 2 (TimerCreated): field 'fire_at_ms' must be an integer, "
            "found a "
            "string");
}

TEST(EventJson, MissingFieldsAreCorrupt) {
  for (const char* field :
       {"event_id", "instance_id", "execution_id", "timestamp_ms", "duramen_version", "type", "fire_at_ms"}) {
    const std::string renamed = replaced(timer, "\"" + std::string{field} + "\":", "\"x\":");
    EXPECT_THAT(problem_of(renamed), AllOf(HasSubstr("instance 'order-1', execution 1"),
                                           HasSubstr("field '" + std::string{field} + "' is missing")));
  }
}

TEST(EventJson, UnknownTypesAreCorrupt) {
  EXPECT_THAT(problem_of(replaced(timer, "TimerCreated", "TimerMelted")),
              AllOf(HasSubstr("event 2 (TimerMelted)"), HasSubstr("unknown type")));
}

TEST(EventJson, IntegersOutOfRangeAreCorrupt) {
  EXPECT_THAT(problem_of(replaced(timer, R"("event_id":2)", R"("event_id":-2)")),
              HasSubstr("out of range: -2"));
  EXPECT_THAT(problem_of(replaced(timer, R"("event_id":2)", R"("event_id":2.5)")),
              HasSubstr("found a number"));
  EXPECT_THAT(problem_of(replaced(timer, R"("event_id":2)", R"("event_id":18446744073709551616)")),
              HasSubstr("execution 1"));
  EXPECT_THAT(problem_of(replaced(timer, R"("fire_at_ms":9)", R"("fire_at_ms":9223372036854775808)")),
              HasSubstr("out of range"));
  const std::string started = as_we_write_it(reference_examples[0]);
  EXPECT_THAT(problem_of(replaced(started, R"("engine_version":1)", R"("engine_version":4294967296)")),
              HasSubstr("'engine_version' is out of range"));
}

TEST(EventJson, ValuesOutsideAClosedSetAreCorrupt) {
  const auto with = [](const std::string& type_and_fields) {
    return R"({"event_id":2,"instance_id":"i","execution_id":1,"timestamp_ms":5,"duramen_version":"0","type":)" +
           type_and_fields + "}";
  };
  EXPECT_THAT(problem_of(with(R"("ActivityCancelRequested","reason":"whim")")), HasSubstr("'whim'"));
  EXPECT_THAT(problem_of(with(R"("OrchestrationCancelRequested","reason":"r","mode":"softly")")),
              HasSubstr("'softly'"));
  EXPECT_THAT(problem_of(with(R"("ActivityCompleted","result":"r","result_encoding":"xml")")),
              HasSubstr("'xml'"));
  EXPECT_THAT(problem_of(with(R"("ActivityFailed","details":{"Strange":{}})")), HasSubstr("'Strange'"));
  EXPECT_THAT(
      problem_of(with(
          R"("ActivityFailed","details":{"Application":{"kind":"Odd","message":"","retryable":false}})")),
      HasSubstr("'Odd'"));
  EXPECT_THAT(
      problem_of(with(
          R"("ActivityFailed","details":{"Application":{"kind":{"Timeout":{"which":"x"}},"message":"","retryable":false}})")),
      HasSubstr("in field 'details': field 'which'"));
  EXPECT_THAT(
      problem_of(with(R"("ActivityFailed","details":{"Configuration":{"kind":"Odd","resource":""}})")),
      HasSubstr("'Odd'"));
  EXPECT_THAT(problem_of(with(R"("ActivityFailed","details":{})")), HasSubstr("expected a failure"));
  EXPECT_THAT(problem_of(with(R"("ActivityFailed","details":"boom")")), HasSubstr("expected a failure"));
  EXPECT_THAT(problem_of(with(R"("ActivityScheduled","name":"A","input":"","options":7)")),
              HasSubstr("'options'"));
  EXPECT_THAT(problem_of(with(R"("ActivityScheduled","name":"A","input":"","tag":7)")), HasSubstr("'tag'"));
  EXPECT_THAT(problem_of(with(R"("ActivityScheduled","name":"A","input":"","heartbeat":7)")),
              HasSubstr("'heartbeat'"));
  EXPECT_THAT(problem_of(with(R"("ActivityCompleted","result":"","attempt":4294967296)")),
              HasSubstr("'attempt' is out of range"));
  EXPECT_THAT(problem_of(with(R"("OrchestrationStarted","name":"A","version":"1","input":"","cancel":{})")),
              HasSubstr("in field 'cancel': field 'reason' is missing"));
  for (const char* carried :
       {"7", "[7]", "[[]]", R"([["a"]])", R"([["a",1]])", R"([["a","b",1]])", R"([["a","b",{"kind":"x"}]])",
        R"([["a","b",{"encoding":"x"}]])", R"([["a\u0000","b"]])"}) {
    EXPECT_THAT(problem_of(with(
                    R"("OrchestrationStarted","name":"A","version":"1","input":"","carry_forward_events":)" +
                    std::string{carried})),
                HasSubstr("'carry_forward_events'"));
  }
}

TEST(EventJson, TextThatIsNoObjectIsCorrupt) {
  for (const std::string_view text :
       {"", " ", "null", "[]", "7", "\"x\"", "{", "{}", "}", "{\"event_id\":2", "nonsense", "{]"}) {
    EXPECT_THAT(problem_of(text), HasSubstr("instance 'order-1', execution 1")) << text;
  }
  EXPECT_THAT(problem_of(timer + "x"), HasSubstr("instance 'order-1'"));
  EXPECT_THAT(problem_of(std::string(5000, '[')), HasSubstr("instance 'order-1'"));
}

// Found by the fuzzer: an element of an array was read as if it were the key of a member, far outside the
// text.
TEST(EventJson, AnArrayWhereAnObjectBelongsIsCorrupt) {
  EXPECT_THAT(problem_of(R"([["a"],["b"]])"), HasSubstr("expected an object, found an array"));
  const std::string failed =
      R"({"event_id":2,"instance_id":"i","execution_id":1,"timestamp_ms":5,"duramen_version":"0","type":"ActivityFailed","details":)";
  EXPECT_THAT(problem_of(failed + R"({"Application":[["a"],["b"]]}})"), HasSubstr("expected an object"));
  EXPECT_THAT(problem_of(failed + R"([["a"],["b"]]})"), HasSubstr("expected a failure"));
}

TEST(EventJson, EveryPrefixOfAnEventIsCorruptAndNothingWorse) {
  for (std::size_t size = 0; size < timer.size(); ++size)
    EXPECT_NE(problem_of(timer.substr(0, size)), "no problem");
}

TEST(EventJson, BrokenTextInAStringIsCorrupt) {
  const std::string event =
      R"({"event_id":2,"instance_id":"i","execution_id":1,"timestamp_ms":5,"duramen_version":"0","type":"KeyValueCleared","key":"?"})";
  EXPECT_EQ(problem_of(event), "no problem");
  for (const char* broken : {"\xFF", "\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\n", "\\x",
                             "\\u12", "\\ud800", "\\udc00", "\\ud800\\ud800", "\\ud800x", "\\u0000"}) {
    EXPECT_NE(problem_of(replaced(event, "?", broken)), "no problem") << broken;
  }
  EXPECT_NE(problem_of(replaced(event, "?", std::string_view{"\0", 1})), "no problem");
  for (const char* fine : {"\\ud83c\\udf33", "\\\\ud800", "\\u00e9", "\xF0\x9F\x8C\xB3"}) {
    EXPECT_EQ(problem_of(replaced(event, "?", fine)), "no problem") << fine;
  }
}

TEST(EventClass, FollowsThePartsOfASegment) {
  const auto class_of = [](EventBody body) {
    return event_class(Event{EventId{1}, EventId{}, TimePoint{}, std::move(body)});
  };
  EXPECT_EQ(class_of(event::OrchestrationStarted{}), EventClass::inbound);
  EXPECT_EQ(class_of(event::OrchestrationCancelRequested{}), EventClass::inbound);
  EXPECT_EQ(class_of(event::QueueEventDelivered{}), EventClass::inbound);
  EXPECT_EQ(class_of(event::ActivityScheduled{}), EventClass::action);
  EXPECT_EQ(class_of(event::KeyValuesCleared{}), EventClass::action);
  EXPECT_EQ(class_of(event::QueueSubscriptionCancelled{}), EventClass::cancel);
  EXPECT_EQ(class_of(event::OrchestrationContinuedAsNew{}), EventClass::terminal);
}

}  // namespace
}  // namespace duramen
