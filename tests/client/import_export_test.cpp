// Instances exported from a store and imported into another or the same: histories, results, status and
// key-values.
#include "client/scripted_provider.hpp"
#include <duramen/recorded_history.hpp>

#include <sstream>

namespace duramen::test {
namespace {

using ::testing::HasSubstr;

class ImportAndExport : public ByHand {
 protected:
  [[nodiscard]] Event event(std::uint64_t id, EventBody body) const {
    return {EventId{id}, {}, clock.now(), std::move(body)};
  }
  [[nodiscard]] Event started(std::optional<ParentLink> parent = {}) const {
    event::OrchestrationStarted start;
    start.name = "Checkout";
    start.version = "1.2.0";
    start.input = Payload::json("1");
    start.parent = std::move(parent);
    return event(1, start);
  }
  [[nodiscard]] RecordedInstance completed(InstanceId id, std::optional<ParentLink> parent = {}) const {
    return {std::move(id),
            {{ExecutionId{1},
              {started(std::move(parent)), event(2, event::OrchestrationCompleted{Payload::json("7")})}}}};
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, ImportAndExport, ::testing::Values("memory", "sqlite"));

TEST_P(ImportAndExport, AnImportedInstanceCanBeReadAndExportedAgain) {
  RecordedInstance recorded{
      "order-1",
      {{ExecutionId{1},
        {started(), event(2, event::KeyValueSet{"a", Payload::text("x"), clock.now()}),
         event(3, event::KeyValueSet{"b", Payload::text("y"), clock.now()}),
         event(4, event::CustomStatusUpdated{"busy"}), event(5, event::KeyValueCleared{"b"}),
         event(6, event::OrchestrationCompleted{Payload::json("7")})}}}};
  EXPECT_EQ(client.import_instance(recorded).value(), ImportOutcome::imported);
  const InstanceInfo info = client.get_instance("order-1").value();
  EXPECT_EQ(info.status, Status::completed);
  EXPECT_EQ(info.output, Payload::json("7"));
  EXPECT_EQ(info.name, "Checkout");
  EXPECT_EQ(info.version, "1.2.0");
  EXPECT_EQ(info.custom_status, "busy");
  const KeyValues values = client.get_key_values("order-1").value();
  EXPECT_EQ(values.size(), 1u);
  EXPECT_EQ(values.at("a").value, Payload::text("x"));
  EXPECT_EQ(client.export_instance("order-1").value(), recorded);
}

// Fields that an earlier build did not write are absent; those of a later one are ignored.
TEST_P(ImportAndExport, AnExportOfAnotherBuildIsImported) {
  std::istringstream lines(
      R"({"event_id":1,"source_event_id":null,"instance_id":"old","execution_id":1,"timestamp_ms":5,"duramen_version":"0.0.9","type":"OrchestrationStarted","name":"Pay","version":"1.0.0","input":"7","input_encoding":"json","parent_instance":null,"parent_id":null,"engine_version":1}
{"event_id":2,"source_event_id":null,"instance_id":"old","execution_id":1,"timestamp_ms":5,"duramen_version":"0.0.9","type":"ActivityScheduled","name":"Charge","input":"7","input_encoding":"json"}
{"event_id":3,"source_event_id":2,"instance_id":"old","execution_id":1,"timestamp_ms":6,"duramen_version":"0.0.9","type":"ActivityFailed","details":{"Application":{"kind":"ActivityFailed","message":"busy","retryable":true}}}
{"event_id":4,"source_event_id":null,"instance_id":"old","execution_id":1,"timestamp_ms":6,"duramen_version":"0.0.9","type":"ActivityScheduled","name":"Charge","input":"7","input_encoding":"json","of_a_later_build":[1]}
{"event_id":5,"source_event_id":4,"instance_id":"old","execution_id":1,"timestamp_ms":7,"duramen_version":"0.0.9","type":"ActivityCompleted","result":"ok"}
{"event_id":6,"source_event_id":null,"instance_id":"old","execution_id":1,"timestamp_ms":8,"duramen_version":"0.0.9","type":"OrchestrationCancelRequested","reason":"enough"}
{"event_id":7,"source_event_id":null,"instance_id":"old","execution_id":1,"timestamp_ms":8,"duramen_version":"0.0.9","type":"OrchestrationFailed","details":{"Application":{"kind":{"Cancelled":{"reason":"enough"}},"message":"","retryable":false}}}
)");
  RecordedHistoryReader reader(lines, "old.jsonl");
  const RecordedInstance recorded = reader.next().value().value();
  EXPECT_EQ(client.import_instance(recorded).value(), ImportOutcome::imported);
  EXPECT_EQ(client.get_instance("old").value().status, Status::cancelled);
  const auto events = client.read_history("old").value();
  ASSERT_EQ(events.size(), 7u);
  EXPECT_EQ(std::get<event::ActivityScheduled>(events[3].body).retry_of, EventId{});
  EXPECT_EQ(std::get<event::ActivityCompleted>(events[4].body).ran, AttemptInfo{});
  EXPECT_EQ(client.export_instance("old").value(), recorded);
}

TEST_P(ImportAndExport, FailuresAndCancellationsStayDistinct) {
  RecordedInstance failed = completed("failed");
  failed.executions[0].events[1].body = event::OrchestrationFailed{Failure::application("Declined", "no")};
  RecordedInstance cancelled{"cancelled",
                             {{ExecutionId{1},
                               {started(), event(2, event::OrchestrationCancelRequested{"enough"}),
                                event(3, event::OrchestrationFailed{Failure::cancelled("enough")})}}}};
  ASSERT_TRUE(client.import_instance(failed));
  ASSERT_TRUE(client.import_instance(cancelled));
  EXPECT_EQ(client.get_instance("failed").value().status, Status::failed);
  EXPECT_EQ(client.get_instance("failed").value().failure->type, "Declined");
  EXPECT_EQ(client.get_instance("cancelled").value().status, Status::cancelled);
}

TEST_P(ImportAndExport, EveryExecutionIsImported) {
  RecordedInstance recorded = completed("ticker");
  recorded.executions[0].events[1].body = event::OrchestrationContinuedAsNew{Payload::json("2")};
  recorded.executions.push_back({ExecutionId{2}, recorded.executions[0].events});
  recorded.executions.push_back({ExecutionId{3}, completed("ticker").executions[0].events});
  ASSERT_TRUE(client.import_instance(recorded));
  EXPECT_EQ(client.list_executions("ticker").value().size(), 3u);
  EXPECT_EQ(client.get_instance("ticker").value().status, Status::completed);
  EXPECT_EQ(client.export_instance("ticker").value(), recorded);
}

TEST_P(ImportAndExport, ATakenIdIsLeftAlone) {
  ASSERT_TRUE(client.start("order-1", "Other", 5));
  EXPECT_EQ(client.import_instance(completed("order-1")).value(), ImportOutcome::exists);
  EXPECT_EQ(client.get_instance("order-1").value().name, "Other");
}

TEST_P(ImportAndExport, AnImportedChildIsAttachedToItsParent) {
  ASSERT_TRUE(client.import_instance(completed("unrelated")));
  ASSERT_TRUE(client.import_instance(completed("root")));
  const Incarnation elsewhere = client.get_instance("unrelated").value().incarnation;
  ASSERT_TRUE(
      client.import_instance(completed("child", ParentLink{"root", elsewhere, ExecutionId{1}, EventId{2}})));
  ASSERT_TRUE(
      client.import_instance(completed("orphan", ParentLink{"gone", elsewhere, ExecutionId{1}, EventId{2}})));
  EXPECT_EQ(client.get_instance_tree("root").value().size(), 2u);
  EXPECT_EQ(client.get_instance_tree("unrelated").value().size(), 1u);
}

TEST_P(ImportAndExport, AnIncompleteInstanceIsRefused) {
  RecordedInstance open = completed("open");
  open.executions[0].events.pop_back();
  const auto unfinished = client.import_instance(open);
  ASSERT_FALSE(unfinished);
  EXPECT_EQ(unfinished.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(unfinished.error().message, HasSubstr("has not ended"));

  RecordedInstance pruned = completed("pruned");
  pruned.executions[0].execution = ExecutionId{4};
  EXPECT_THAT(Client::check_import(pruned).error().message, HasSubstr("pruned"));

  RecordedInstance torn = completed("torn");
  torn.executions[0].events[1].id = EventId{3};
  EXPECT_THAT(Client::check_import(torn).error().message, HasSubstr("lacks event 2"));

  RecordedInstance headless = completed("headless");
  headless.executions[0].events.erase(headless.executions[0].events.begin());
  EXPECT_FALSE(client.import_instance(headless));
  EXPECT_FALSE(client.import_instance(RecordedInstance{"empty", {}}));
  EXPECT_FALSE(client.get_instance("open"));
}

TEST_P(ImportAndExport, AnImportCreatesNoWork) {
  ASSERT_TRUE(client.import_instance(completed("order-1")));
  const QueueDepths depths = client.queue_depths().value();
  EXPECT_EQ(depths.orchestrator_due + depths.orchestrator_later + depths.worker_due + depths.worker_later,
            0u);
}

}  // namespace
}  // namespace duramen::test
