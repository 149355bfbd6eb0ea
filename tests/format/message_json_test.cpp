// Messages as interchange JSON.

#include "format/samples.hpp"
#include <duramen/message.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace duramen {
namespace {

using testing::HasSubstr;

const InstanceId order{"order-1"};

// As the reference writes them.
const std::vector<std::string> reference_items{
    R"({"StartOrchestration":{"instance":"order-1","orchestration":"ProcessOrder","input":"{}","version":null,"parent_instance":null,"parent_id":null,"execution_id":1}})",
    R"({"StartOrchestration":{"instance":"order-1","orchestration":"Ship","input":"{}","version":"1.0.0","parent_instance":"order-0","parent_id":2,"execution_id":1}})",
    R"({"ActivityCompleted":{"instance":"order-1","execution_id":1,"id":2,"result":"ok"}})",
    R"({"ActivityFailed":{"instance":"order-1","execution_id":1,"id":2,"details":{"Application":{"kind":"ActivityFailed","message":"declined","retryable":false}}}})",
    R"({"TimerFired":{"instance":"order-1","execution_id":1,"id":3,"fire_at_ms":1767225660000}})",
    R"({"ExternalRaised":{"instance":"order-1","name":"Approval","data":"yes"}})",
    R"({"SubOrchCompleted":{"parent_instance":"order-1","parent_execution_id":1,"parent_id":2,"result":"shipped"}})",
    R"({"SubOrchFailed":{"parent_instance":"order-1","parent_execution_id":1,"parent_id":2,"details":{"Application":{"kind":"OrchestrationFailed","message":"boom","retryable":false}}}})",
    R"({"CancelInstance":{"instance":"order-1","reason":"user request"}})",
    R"({"ContinueAsNew":{"instance":"order-1","orchestration":"ProcessOrder","input":"next","version":null,"carry_forward_events":[["inbox","m1"]],"initial_custom_status":"50%"}})",
    R"({"QueueMessage":{"instance":"order-1","name":"inbox","data":"m1"}})",
};
const std::vector<std::string> reference_activities{
    R"({"ActivityExecute":{"instance":"order-1","execution_id":1,"id":2,"name":"Charge","input":"42"}})",
    R"({"ActivityExecute":{"instance":"order-1","execution_id":1,"id":2,"name":"Render","input":"42","session_id":"s-1","tag":"gpu"}})",
};

std::string problem_of(std::string_view json) {
  const Result<MessageBody> item = message_from_json(json, order);
  if (item) return "no problem";
  EXPECT_EQ(item.error().code, ErrorCode::corrupt);
  return item.error().message;
}

TEST(MessageJson, TheReferencesExamplesAreWrittenAsTheyWereRead) {
  std::set<std::size_t> kinds;
  for (const std::string& example : reference_items) {
    const Result<MessageBody> item = message_from_json(example, order);
    ASSERT_TRUE(item) << item.error().describe();
    EXPECT_EQ(to_json(*item, order), example);
    kinds.insert(item->index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<MessageBody>);
  for (const std::string& example : reference_activities) {
    const Result<ActivityRequest> activity = activity_request_from_json(example);
    ASSERT_TRUE(activity) << activity.error().describe();
    EXPECT_EQ(to_json(*activity), example);
  }
}

TEST(MessageJson, EveryKindComesBackAsItWas) {
  std::set<std::size_t> kinds;
  for (const MessageBody& item : samples::work_items()) {
    kinds.insert(item.index());
    const std::string json = to_json(item, order);
    const Result<MessageBody> read = message_from_json(json, order);
    ASSERT_TRUE(read) << read.error().describe() << "\n" << json;
    EXPECT_EQ(*read, item) << json;
    EXPECT_THAT(json, testing::StartsWith("{\"" + std::string{message_type(item)} + "\":{"));
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<MessageBody>);
}

TEST(MessageJson, ActivitiesComeBackAsTheyWere) {
  for (const ActivityRequest& activity : samples::activities()) {
    const std::string json = to_json(activity);
    const Result<ActivityRequest> read = activity_request_from_json(json);
    ASSERT_TRUE(read) << read.error().describe();
    EXPECT_EQ(*read, activity) << json;
  }
}

TEST(MessageJson, OptionalFieldsMayBeMissing) {
  EXPECT_EQ(problem_of(R"({"StartOrchestration":{"instance":"i","orchestration":"A","input":""}})"),
            "no problem");
  EXPECT_EQ(problem_of(R"({"ContinueAsNew":{"instance":"i","orchestration":"A","input":"","more":[1]}})"),
            "no problem");
}

TEST(MessageJson, AProblemNamesTheItemTheInstanceAndTheField) {
  EXPECT_EQ(problem_of(R"({"TimerFired":{"instance":"i","execution_id":1,"id":3}})"),
            "message TimerFired for instance 'order-1': field 'fire_at_ms' is missing");
  EXPECT_THAT(problem_of(R"({"TimerFired":{"execution_id":1,"id":3,"fire_at_ms":1}})"),
              HasSubstr("'instance' is missing"));
  EXPECT_THAT(problem_of(R"({"TimerFired":{"instance":"i","execution_id":-1,"id":3,"fire_at_ms":1}})"),
              HasSubstr("'execution_id' is out of range"));
}

TEST(MessageJson, AnUnknownKindIsCorrupt) {
  EXPECT_THAT(problem_of(R"({"Melt":{}})"), HasSubstr("unknown kind 'Melt'"));
  EXPECT_THAT(problem_of(reference_activities[0]), HasSubstr("unknown kind 'ActivityExecute'"));
  for (const char* text : {"", "null", "[]", "{}", R"({"CancelInstance":7})", R"({"CancelInstance":null})",
                           R"({"CancelInstance":{"instance":"i","reason":"r"},"More":{}})",
                           "\"CancelInstance\"", "{\"CancelInstance\":{"}) {
    EXPECT_NE(problem_of(text), "no problem") << text;
  }
}

TEST(MessageJson, AnActivityIsNoOtherItem) {
  const Result<ActivityRequest> activity = activity_request_from_json(reference_items[2]);
  ASSERT_FALSE(activity);
  EXPECT_EQ(activity.error().code, ErrorCode::corrupt);
  EXPECT_THAT(activity.error().message, HasSubstr("expected ActivityExecute, found 'ActivityCompleted'"));
  EXPECT_FALSE(activity_request_from_json("{"));
  EXPECT_FALSE(activity_request_from_json(
      R"({"ActivityExecute":{"instance":"i","execution_id":1,"id":2,"name":"A"}})"));
}

}  // namespace
}  // namespace duramen
