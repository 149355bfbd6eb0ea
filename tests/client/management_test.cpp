// Finding and managing instances.
#include "client/scripted_provider.hpp"

#include <set>

namespace duramen::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class Management : public ByHand {
 protected:
  static InstanceFilter with_prefix(std::string prefix) {
    InstanceFilter filter;
    filter.id_prefix = std::move(prefix);
    return filter;
  }
  static InstanceFilter everything() { return with_prefix(""); }
  bool exists(const InstanceId& instance) { return client.get_instance(instance).has_value(); }
};
DURAMEN_ON_BOTH_STORES(Management);

// -- finding ------------------------------------------------------------------------------------------------

TEST_P(Management, PagesHoldEveryInstanceOnce) {
  for (int i = 0; i < 25; ++i) client.start("i" + std::to_string(i), "orch", "in").value();
  InstanceQuery query;
  query.limit = 10;
  std::set<std::string> seen;
  std::vector<std::size_t> sizes;
  do {
    const InstancePage page = client.list(query).value();
    sizes.push_back(page.instances.size());
    for (const InstanceInfo& info : page.instances) EXPECT_TRUE(seen.insert(info.instance.value).second);
    query.after = page.next;
  } while (query.after);
  EXPECT_EQ(seen.size(), 25u);
  EXPECT_THAT(sizes, ElementsAre(10, 10, 5));
}

TEST_P(Management, EveryInstanceCanBeVisited) {
  for (int i = 0; i < 7; ++i) client.start("i" + std::to_string(i), "orch", "in").value();
  InstanceQuery query;
  query.limit = 3;
  query.order = InstanceOrder::oldest_first;
  std::vector<std::string> ids;
  EXPECT_EQ(client.for_each_instance(query, [&](const InstanceInfo& i) { ids.push_back(i.instance.value); })
                .value(),
            7u);
  EXPECT_THAT(ids, ElementsAre("i0", "i1", "i2", "i3", "i4", "i5", "i6"));

  ids.clear();
  const auto visited = client.for_each_instance(query, [&](const InstanceInfo& i) {
    ids.push_back(i.instance.value);
    return ids.size() < 5;
  });
  EXPECT_EQ(visited.value(), 5u);
  EXPECT_THAT(ids, SizeIs(5));
}

TEST_P(Management, APageOfNothingIsRefused) {
  InstanceQuery query;
  query.limit = 0;
  EXPECT_EQ(client.list(query).error().code, ErrorCode::invalid_argument);
}

TEST_P(Management, ATreeIsParentsBeforeChildren) {
  begin("root", {child("orch", "child")});
  turn("child", {started(), child("orch", "grandchild")});
  std::vector<std::string> ids;
  for (const InstanceInfo& info : client.get_instance_tree("root").value())
    ids.push_back(info.instance.value);
  EXPECT_THAT(ids, ElementsAre("root", "child", "grandchild"));
  EXPECT_EQ(client.get_instance_tree("nobody").error().code, ErrorCode::not_found);
}

TEST_P(Management, EveryExecutionHasItsHistory) {
  begin("a", {event::OrchestrationContinuedAsNew{Payload::text("in")}});
  turn("a", {started(), event::TimerCreated{clock.now() + 1h}});
  const auto executions = client.list_executions("a").value();
  ASSERT_THAT(executions, SizeIs(2));
  EXPECT_EQ(executions[0].status, Status::continued_as_new);
  EXPECT_EQ(executions[1].status, Status::running);
  EXPECT_EQ(event_type(client.read_history("a", ExecutionId{1}).value().back()),
            "OrchestrationContinuedAsNew");
  EXPECT_EQ(event_type(client.read_history("a", ExecutionId{2}).value().back()), "TimerCreated");
  EXPECT_EQ(event_type(client.read_history("a").value().back()), "TimerCreated");

  const auto later = client.read_history("a", ExecutionId{3});
  EXPECT_EQ(later.error().code, ErrorCode::not_found);
  EXPECT_THAT(later.error().message, HasSubstr("has not reached it"));
  EXPECT_EQ(client.read_history("a", ExecutionId{}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(client.list_executions("nobody").error().code, ErrorCode::not_found);
}

TEST_P(Management, TheStoreIsCounted) {
  finish("done");
  begin("running", {activity("Act"), event::TimerCreated{clock.now() + 1h}});
  client.start("pending", "orch", "in").value();
  const StoreMetrics metrics = client.metrics().value();
  EXPECT_EQ(metrics.total_instances(), 3u);
  EXPECT_EQ(metrics.count(Status::completed), 1u);
  EXPECT_EQ(metrics.count(Status::running), 1u);
  EXPECT_EQ(metrics.count(Status::pending), 1u);
  EXPECT_EQ(metrics.events, 5u);
  const QueueDepths depths = client.queue_depths().value();
  EXPECT_EQ(depths.orchestrator_due, 1u);
  EXPECT_EQ(depths.orchestrator_later, 1u);
  EXPECT_EQ(depths.worker_due, 1u);
}

// -- cancelling ---------------------------------------------------------------------------------------------

TEST_P(Management, ACancelByFilterReachesEveryInstanceThatHasNotEnded) {
  for (int i = 0; i < 230; ++i) client.start("x-" + std::to_string(i), "orch", "in").value();
  client.start("y", "orch", "in").value();
  finish("x-done");
  const CancelReport report = client.cancel_instances(with_prefix("x-"), "maintenance").value();
  EXPECT_THAT(report.matched, SizeIs(230));
  EXPECT_THAT(report.requested, SizeIs(230));
  EXPECT_THAT(report.already_finished, IsEmpty());
  const LeasedInstance item = fetch("x-17");
  const auto* cancel = std::get_if<message::CancelInstance>(&item.messages.back().body);
  ASSERT_NE(cancel, nullptr);
  EXPECT_EQ(cancel->reason, "maintenance");
  EXPECT_THAT(fetch("y").messages, SizeIs(1));
}

TEST_P(Management, ADryRunCancelsNothing) {
  client.start("a", "orch", "in").value();
  const CancelReport report =
      client.cancel_instances(everything(), "r", CancelMode::graceful, {.dry_run = true}).value();
  EXPECT_THAT(report.matched, ElementsAre("a"));
  EXPECT_THAT(report.requested, IsEmpty());
  EXPECT_THAT(fetch("a").messages, SizeIs(1));
}

TEST_P(Management, EndedInstancesAreReportedAsEnded) {
  finish("done");
  client.start("open", "orch", "in").value();
  InstanceFilter filter;
  filter.ids = std::vector<InstanceId>{"done", "open", "nobody"};
  filter.statuses = {Status::completed, Status::pending};
  const CancelReport report = client.cancel_instances(filter, "r").value();
  EXPECT_THAT(report.requested, ElementsAre("open"));
  EXPECT_THAT(report.already_finished, ElementsAre("done"));
}

TEST_P(Management, ABulkCallStopsAtItsLimit) {
  for (int i = 0; i < 250; ++i) client.start("i" + std::to_string(i), "orch", "in").value();
  const auto report =
      client.cancel_instances(everything(), "r", CancelMode::graceful, {.limit = 120}).value();
  EXPECT_THAT(report.requested, SizeIs(120));
}

TEST_P(Management, DestructiveCallsRefuseAnEmptyFilter) {
  finish("a");
  const PruneOptions keep_one{.keep_last = 1};
  for (const Error& error : {client.cancel_instances({}, "r").error(), client.delete_instances({}).error(),
                             client.delete_instances({}, DeleteMode::force).error(),
                             client.prune_executions(InstanceFilter{}, keep_one).error()}) {
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_THAT(error.message, HasSubstr("id_prefix"));
  }
  EXPECT_TRUE(exists("a"));
}

// -- deleting -----------------------------------------------------------------------------------------------

TEST_P(Management, AnEndedInstanceIsDeletedWithItsTree) {
  begin("root", {child("orch", "child")});
  turn("child", {started(), event::OrchestrationCompleted{Payload::text("c")}});
  go_on("root", {event::OrchestrationCompleted{Payload::text("r")}});
  const DeleteResult result = client.delete_instance("root").value();
  EXPECT_EQ(result.instances, 2u);
  EXPECT_EQ(result.executions, 2u);
  EXPECT_EQ(result.events, 6u);
  EXPECT_FALSE(exists("root"));
  EXPECT_FALSE(exists("child"));
  EXPECT_EQ(client.delete_instance("root").error().code, ErrorCode::not_found);
}

TEST_P(Management, ARunningInstanceIsDeletedOnlyByForce) {
  begin("a", {activity("Act")});
  const auto refused = client.delete_instance("a");
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("DeleteMode::force"));
  EXPECT_TRUE(exists("a"));
  EXPECT_EQ(client.delete_instance("a", DeleteMode::force).value().instances, 1u);
  EXPECT_FALSE(exists("a"));
  EXPECT_EQ(client.queue_depths().value().worker_due, 0u);
}

TEST_P(Management, ASubOrchestrationGoesWithItsRoot) {
  begin("root", {child("orch", "child")});
  const auto refused = client.delete_instance("child", DeleteMode::force);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("root"));
}

TEST_P(Management, ADeleteByFilterTakesWhatHasEndedPageByPage) {
  for (int i = 0; i < 130; ++i) finish("old-" + std::to_string(i));
  clock.advance(1h);
  const TimePoint cut = clock.now();
  clock.advance(1h);
  finish("new");
  begin("running");

  InstanceFilter filter;
  filter.ended_before = cut;
  const DeleteReport dry = client.delete_instances(filter, DeleteMode::finished, {.dry_run = true}).value();
  EXPECT_THAT(dry.matched, SizeIs(130));
  EXPECT_THAT(dry.deleted, IsEmpty());
  EXPECT_TRUE(exists("old-0"));

  const DeleteReport report = client.delete_instances(filter).value();
  EXPECT_THAT(report.deleted, SizeIs(130));
  EXPECT_EQ(report.instances, 130u);
  EXPECT_EQ(report.executions, 130u);
  EXPECT_EQ(report.events, 260u);
  EXPECT_TRUE(exists("new"));
  EXPECT_TRUE(exists("running"));
  EXPECT_EQ(client.metrics().value().total_instances(), 2u);
}

TEST_P(Management, ATreeThatIsStillAliveIsKeptAndReported) {
  begin("root", {child("orch", "child"), event::OrchestrationCompleted{Payload::text("r")}});
  const DeleteReport report = client.delete_instances(everything()).value();
  EXPECT_THAT(report.matched, ElementsAre("root"));
  EXPECT_THAT(report.not_finished, ElementsAre("root"));
  EXPECT_THAT(report.deleted, IsEmpty());
  EXPECT_TRUE(exists("child"));
}

TEST_P(Management, ChildrenCannotBeFilteredForDeletion) {
  InstanceFilter filter;
  filter.parent = "root";
  EXPECT_EQ(client.delete_instances(filter).error().code, ErrorCode::invalid_argument);
}

// -- pruning ------------------------------------------------------------------------------------------------

TEST_P(Management, OldExecutionsArePruned) {
  begin("a", {event::OrchestrationContinuedAsNew{Payload::text("in")}});
  for (int i = 0; i < 4; ++i) turn("a", {started(), event::OrchestrationContinuedAsNew{Payload::text("in")}});
  turn("a", {started()});
  const PruneResult result = client.prune_executions("a", {.keep_last = 2}).value();
  EXPECT_EQ(result.executions, 4u);
  EXPECT_EQ(result.events, 8u);
  EXPECT_THAT(client.list_executions("a").value(), SizeIs(2));
  const auto gone = client.read_history("a", ExecutionId{1});
  EXPECT_EQ(gone.error().code, ErrorCode::not_found);
  EXPECT_THAT(gone.error().message, HasSubstr("pruned"));
  EXPECT_EQ(client.prune_executions("nobody", {.keep_last = 2}).error().code, ErrorCode::not_found);

  const PruneReport dry = client.prune_executions(everything(), {.keep_last = 1}, {.dry_run = true}).value();
  EXPECT_THAT(dry.matched, ElementsAre("a"));
  EXPECT_EQ(dry.executions, 0u);
  EXPECT_EQ(client.prune_executions(everything(), {.keep_last = 1}).value().executions, 1u);
}

TEST_P(Management, EmptyPruneOptionsAreRefusedWithAdvice) {
  finish("a");
  for (const Error& error : {client.prune_executions("a", {}).error(),
                             client.prune_executions(everything(), PruneOptions{}).error()}) {
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_THAT(error.message, HasSubstr("keep_last"));
    EXPECT_THAT(error.message, HasSubstr("ended_before"));
  }
}

// -- arguments ----------------------------------------------------------------------------------------------

TEST_P(Management, BadNamesAreRefusedBeforeTheStoreIsAsked) {
  begin("a");
  int calls = 0;
  provider->watch([&](std::string_view) { ++calls; });
  const std::string nul("a\0b", 3);
  const std::string long_name(max_name_bytes + 1, 'x');
  for (const auto& [bad, code] :
       std::vector<std::pair<std::string, ErrorCode>>{{"", ErrorCode::invalid_argument},
                                                      {nul, ErrorCode::invalid_argument},
                                                      {"\xff", ErrorCode::invalid_argument},
                                                      {long_name, ErrorCode::limit_exceeded}}) {
    const PruneOptions keep_one{.keep_last = 1};
    InstanceFilter filter;
    filter.ids = std::vector<InstanceId>{bad};
    StartOptions version;
    version.version = bad;
    for (const Error& error : {client.start(bad, "orch", "in").error(),
                               client.start("b", bad, "in").error(),
                               client.start("b", "orch", "in", version).error(),
                               client.wait(bad, 1ms).error(),
                               client.wait_for_status_change(bad, 0, 1ms).error(),
                               client.wait_for_key_value(bad, "k", 1ms).error(),
                               client.wait_for_key_value("a", bad, 1ms).error(),
                               client.cancel(bad, "r").error(),
                               client.raise_event(bad, "e", 1).error(),
                               client.raise_event("a", bad, 1).error(),
                               client.raise_event("a", "e", 1, bad).error(),
                               client.enqueue_event("a", bad, 1).error(),
                               client.get_instance(bad).error(),
                               client.list_executions(bad).error(),
                               client.read_history(bad).error(),
                               client.get_instance_tree(bad).error(),
                               client.get_key_values(bad).error(),
                               client.get_key_value("a", bad).error(),
                               client.explain(bad).error(),
                               client.delete_instance(bad).error(),
                               client.delete_instances(filter).error(),
                               client.cancel_instances(filter, "r").error(),
                               client.prune_executions(bad, keep_one).error()}) {
      EXPECT_EQ(error.code, code) << error.describe();
      EXPECT_FALSE(error.retryable);
      EXPECT_FALSE(error.operation.empty());
    }
  }
  EXPECT_EQ(client.cancel("a", std::string(max_reason_bytes + 1, 'r')).error().code,
            ErrorCode::limit_exceeded);
  EXPECT_EQ(client.cancel("a", nul).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(client.raise_event("a", "e", nul).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(client.enqueue_event("a", "q", std::string(default_payload_limit + 1, 'x')).error().code,
            ErrorCode::limit_exceeded);
  EXPECT_EQ(calls, 0);
  provider->watch({});
}

TEST_P(Management, AStoreErrorIsReturnedUnchanged) {
  class Failing final : public ForwardingProvider {
   public:
    using ForwardingProvider::ForwardingProvider;

   private:
    std::optional<Error> before(ProviderCall& call) override {
      return Error{ErrorCode::unavailable, std::string(call.operation), "the disk is full", true};
    }
  };
  Client broken{Store(std::make_shared<Failing>(provider))};
  InstanceFilter filter;
  filter.name = "orch";
  for (const Error& error :
       {broken.start("a", "orch", "in").error(), broken.get_instance("a").error(), broken.list({}).error(),
        broken.cancel_instances(filter, "r").error(), broken.delete_instances(filter).error(),
        broken.explain("a").error(), broken.metrics().error(), broken.queue_depths().error()}) {
    EXPECT_EQ(error.code, ErrorCode::unavailable);
    EXPECT_TRUE(error.retryable);
  }
}

}  // namespace
}  // namespace duramen::test
