// Explanations of an instance's state. The tests write the turns, so that every state and every word can be
// checked.
#include "client/explanation_text.hpp"
#include "client/scripted_provider.hpp"

namespace duramen::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class Explain : public ByHand {
 protected:
  Explanation explain(const InstanceId& instance) { return client.explain(instance).value(); }
  std::string stuck(const InstanceId& instance) { return explain(instance).stuck.value_or("(not stuck)"); }

  ActivityBatch take_work(const NodeId& node, TagFilter tags = TagFilter::any()) {
    ActivityFetch request;
    request.node = node;
    request.lease = 30s;
    request.tags = std::move(tags);
    return provider->fetch_activities(request).value();
  }
  void add_node(const NodeId& node, const std::string& orchestration = "another") {
    NodeRecord record;
    record.node = node;
    record.orchestrations = {{orchestration, {}}};
    provider->write_node(record).value();
  }
  void give_back(const LeasedActivity& work, Duration delay = {}) {
    const ActivityRelease back{work.lease, delay, true};
    provider->release_activities(std::span(&back, 1)).value();
  }
};
DURAMEN_ON_BOTH_STORES(Explain);

TEST_P(Explain, AnUnknownInstanceIsNotFound) {
  EXPECT_EQ(client.explain("nobody").error().code, ErrorCode::not_found);
}

TEST_P(Explain, ACancelNamesItsRequester) {
  begin("a", {activity("Slow")});
  client.cancel("a", "no longer needed").value();
  event::OrchestrationCancelRequested cancel{"no longer needed"};
  cancel.requested_by = "alice";
  turn("a", {cancel});
  const Explanation e = explain("a");
  EXPECT_EQ(e.cancel_request.value().requested_by, "alice");
  EXPECT_THAT(e.text, HasSubstr("It was asked to stop by alice just now"));
  EXPECT_THAT(e.text, HasSubstr(": no longer needed\n"));
}

TEST(ExplanationText, ACancelThatNoTurnHasTakenIsTold) {
  Explanation e;
  e.info.instance = "a";
  e.info.status = Status::running;
  const TimePoint now = from_unix_ms(1'000'000);
  EXPECT_THAT(client::full_text(e, now), Not(HasSubstr("asked to stop")));
  e.info.cancel_asked = CancelMode::graceful;
  EXPECT_THAT(client::full_text(e, now),
              HasSubstr("It was asked to stop, and no turn has taken the request yet"));
  e.cancel_request = CancelRequest{"enough", CancelMode::graceful, CancelOrigin::client, {}, now};
  EXPECT_THAT(client::full_text(e, now), Not(HasSubstr("no turn has taken")));
  e.info.cancel_asked = CancelMode::terminate;
  EXPECT_THAT(client::full_text(e, now),
              HasSubstr("It was asked to stop, without clean-up: no turn has taken this second request yet"));
}

TEST_P(Explain, AQueuedCancelNamesItsRequesterAndReason) {
  begin("a", {event::ExternalSubscribed{"go"}});
  Client alice(store, {.requested_by = "alice"});
  EXPECT_FALSE(explain("a").queued_cancel);
  EXPECT_FALSE(alice.cancel("a", "no longer needed").value().repeated);
  EXPECT_TRUE(client.cancel("a", "never mind").value().repeated);
  Explanation e = explain("a");
  ASSERT_TRUE(e.queued_cancel);
  EXPECT_EQ(e.queued_cancel->requested_by, "alice");
  EXPECT_EQ(e.queued_cancel->reason, "no longer needed");
  EXPECT_THAT(e.text, HasSubstr("It was asked to stop by alice just now"));
  EXPECT_THAT(e.text, HasSubstr(": no longer needed; no turn has taken the request yet\n"));
  // A stronger one is a request of its own.
  Client bob(store, {.requested_by = "bob"});
  EXPECT_FALSE(bob.cancel("a", "at once", CancelMode::terminate).value().repeated);
  EXPECT_EQ(explain("a").queued_cancel.value().requested_by, "bob");
}

TEST_P(Explain, MissingCodeIsNamedWhileTheInstanceWaitsForSomethingElse) {
  begin("a", {event::ExternalSubscribed{"go"}});
  EXPECT_THAT(explain("a").text, Not(HasSubstr("no live node"))) << "no node is known";
  add_node("other");
  EXPECT_THAT(
      explain("a").text,
      HasSubstr("; no live node has the orchestration 'orch' in version 1.0.0, which it needs to go on"));
  add_node("fitting", "orch");
  EXPECT_THAT(explain("a").text, Not(HasSubstr("no live node")));
}

TEST_P(Explain, APendingInstanceThatNoNodeTakesIsStuck) {
  client.start("a", "orch", "in").value();
  EXPECT_EQ(stuck("a"), "(not stuck)");
  clock.advance(5min);
  const Explanation e = explain("a");
  EXPECT_EQ(e.status, "is pending: started 5 min ago as 'orch', and no node has run it yet");
  EXPECT_EQ(e.stuck,
            "a message to it (StartOrchestration) has been waiting for 5 min and no node has taken it: is a "
            "runtime up "
            "that has the orchestration 'orch' registered?");
}

TEST_P(Explain, AFreshInstanceWaitsForANodeWithItsCodeAndIsStuckOnlyLater) {
  client.start("a", "orch", "in").value();
  EXPECT_THAT(explain("a").status, Not(HasSubstr("waits for a node"))) << "no node is known";
  add_node("other");
  Explanation e = explain("a");
  EXPECT_EQ(
      e.status,
      "is pending: started just now as 'orch', and no node has run it yet; it waits for a node that has "
      "the orchestration 'orch'");
  EXPECT_THAT(e.findings, IsEmpty());
  clock.advance(40s);
  EXPECT_EQ(stuck("a"),
            "a message to it (StartOrchestration) has been waiting for 40.000 s and no node has taken it: no "
            "live node has the orchestration 'orch'");
  add_node("fitting", "orch");
  EXPECT_THAT(stuck("a"), HasSubstr("is a runtime up"));
  EXPECT_THAT(explain("a").status, Not(HasSubstr("waits for a node")));
}

TEST_P(Explain, ACancelThatAnyNodeDecidesWaitsForNoCode) {
  add_node("other");
  begin("a", {activity("Slow")});
  client.cancel("a", "enough").value();
  EXPECT_THAT(explain("a").status, Not(HasSubstr("waits for a node")));
  clock.advance(40s);
  EXPECT_THAT(stuck("a"), Not(HasSubstr("no live node")));
}

TEST_P(Explain, AnActivityWaitsThenRunsThenHasAnAnswerOnItsWay) {
  begin("a", {activity("Charge")});
  clock.advance(10s);
  Explanation e = explain("a");
  ASSERT_THAT(e.waits, SizeIs(1));
  EXPECT_EQ(e.waits[0].kind, Waiting::Kind::activity);
  EXPECT_EQ(e.waits[0].event, EventId{2});
  EXPECT_EQ(e.waits[0].text,
            "activity 'Charge' (event 2), scheduled 10.000 s ago: waits for a worker; not taken yet");
  EXPECT_FALSE(e.stuck);

  const ActivityBatch batch = take_work("node-b");
  ASSERT_THAT(batch.items, SizeIs(1));
  e = explain("a");
  EXPECT_EQ(e.waits[0].node, "node-b");
  EXPECT_EQ(e.waits[0].attempt, 1u);
  EXPECT_EQ(e.waits[0].text,
            "activity 'Charge' (event 2), scheduled 10.000 s ago: runs on node node-b, attempt 1");

  const ActivityAck ack{batch.items[0].lease, "a", Payload::text("receipt")};
  provider->ack_activities(std::span(&ack, 1)).value();
  EXPECT_THAT(explain("a").waits.at(0).text, HasSubstr("has ended, its result is on its way"));
}

TEST_P(Explain, AnActivityThatNoNodeTakesIsStuckAndTheReasonNamesItsTag) {
  begin("a", {activity("Render", "gpu")});
  clock.advance(2min);
  EXPECT_THAT(take_work("node-a", TagFilter::default_only()).items, IsEmpty());
  const Explanation e = explain("a");
  EXPECT_THAT(e.waits.at(0).text, HasSubstr("waits for a worker that takes the tag 'gpu'; not taken yet"));
  EXPECT_EQ(e.stuck,
            "no worker has taken activity 'Render' (event 2) in 2 min: is a runtime up that has it "
            "registered and takes "
            "the tag 'gpu'?");
}

TEST_P(Explain, AnActivityThatIsHandedOutAgainAndAgainIsStuck) {
  begin("a", {activity("Crash")});
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(explain("a").stuck);
    give_back(take_work("node-a").items.at(0));
  }
  EXPECT_THAT(stuck("a"), HasSubstr("activity 'Crash' (event 2) was handed out 3 times without an end"));
}

TEST_P(Explain, AnActivityBetweenAttemptsShowsTheTimeOfTheNext) {
  begin("a", {activity("Flaky")});
  give_back(take_work("node-a").items.at(0), 1min);
  const Explanation e = explain("a");
  EXPECT_EQ(e.waits.at(0).due, clock.now() + 1min);
  EXPECT_THAT(e.waits.at(0).text, HasSubstr("may be tried again in 1 min; was handed out once before"));
}

TEST_P(Explain, ATimerShowsWhenItIsDue) {
  begin("a", {event::TimerCreated{clock.now() + 24h}});
  clock.advance(1h);
  const Explanation e = explain("a");
  ASSERT_THAT(e.waits, SizeIs(1));
  EXPECT_EQ(e.waits[0].due, clock.now() + 23h);
  EXPECT_EQ(e.waits[0].text, "timer (event 2): due in 23 h, at 2025-06-16T15:06:40.000Z");
  EXPECT_FALSE(e.stuck);
}

TEST_P(Explain, ATimerThatNoNodeFiresIsStuck) {
  begin("a", {event::TimerCreated{clock.now() + 1min}});
  clock.advance(10min);
  EXPECT_THAT(explain("a").waits.at(0).text, HasSubstr("timer (event 2): due 9 min ago"));
  EXPECT_THAT(stuck("a"), HasSubstr("(TimerFired) has been waiting for 9 min and no node has taken it"));
  EXPECT_THAT(stuck("a"), HasSubstr("'orch' in version 1.0.0"));
}

TEST_P(Explain, ATimerThatWasDroppedIsNotWaitedFor) {
  begin("a", {event::TimerCreated{clock.now() + 1h}, event::TimerCreated{clock.now() + 2h}});
  go_on("a", {}, [](TurnCommit& commit) { commit.dropped_timers = {EventId{2}}; });
  const Explanation e = explain("a");
  ASSERT_THAT(e.waits, SizeIs(1));
  EXPECT_EQ(e.waits[0].event, EventId{3});
}

TEST_P(Explain, AnInstanceThatNeedsAnUnsentMessageWaitsForAnAnswerAndIsNotStuck) {
  begin("a", {event::ExternalSubscribed{"approved"}, event::QueueSubscribed{"orders"}});
  EXPECT_EQ(stuck("a"), "(not stuck)");
  clock.advance(2h);
  const Explanation e = explain("a");
  EXPECT_EQ(e.waits.at(0).text, "event 'approved' (event 2), since 2 h");
  EXPECT_EQ(e.waits.at(1).text, "message on queue 'orders' (event 3), since 2 h");
  EXPECT_FALSE(e.stuck);
  ASSERT_THAT(e.findings, SizeIs(1));
  EXPECT_EQ(e.findings[0].kind, Explanation::Finding::Kind::unsent);
  EXPECT_EQ(e.findings[0].instance, "a");
  EXPECT_EQ(e.findings[0].text,
            "it can only go on with the event 'approved', a message on the queue 'orders', which has not "
            "been sent for 2 h; send it, or cancel the instance");
  EXPECT_THAT(e.text, HasSubstr("It waits for an answer from outside: it can only go on with"));
}

TEST_P(Explain, AMessageThatNoNodeTakesIsReportedForTheWaitingInstance) {
  begin("a", {event::ExternalSubscribed{"approved"}});
  clock.advance(2h);
  client.raise_event("a", "approved", "yes").value();
  EXPECT_THAT(explain("a").findings, IsEmpty()) << "a node may take it in a moment";
  clock.advance(1min);
  EXPECT_THAT(stuck("a"), HasSubstr("a message to it (ExternalRaised) has been waiting for 1 min"));
}

TEST_P(Explain, AParentWaitsForTheAnswerThatItsChildWaitsForUnlessItHasATimer) {
  begin("root", {child("orch", "child")});
  begin("impatient", {child("orch", "other"), event::TimerCreated{clock.now() + 24h}});
  turn("child", {started(), event::ExternalSubscribed{"go"}});
  turn("other", {started(), event::ExternalSubscribed{"go"}});
  clock.advance(1h);
  const Explanation e = explain("root");
  EXPECT_FALSE(e.stuck);
  ASSERT_THAT(e.findings, SizeIs(1));
  EXPECT_EQ(e.findings[0].kind, Explanation::Finding::Kind::unsent);
  EXPECT_EQ(e.findings[0].instance, "child");
  EXPECT_THAT(
      e.findings[0].text,
      HasSubstr("its sub-orchestration \"child\" waits for an answer from outside: it can only go on with"));
  EXPECT_THAT(explain("impatient").findings, IsEmpty());
}

TEST_P(Explain, AReleasedActivityThatNoNodeTakesMayBeStuck) {
  begin("a", {activity("Charge")});
  give_back(take_work("node-a").items.at(0));
  EXPECT_THAT(explain("a").findings, IsEmpty());
  clock.advance(1min);
  const Explanation e = explain("a");
  EXPECT_FALSE(e.stuck);
  ASSERT_THAT(e.findings, SizeIs(1));
  EXPECT_EQ(e.findings[0].kind, Explanation::Finding::Kind::let_go);
  EXPECT_THAT(e.text, HasSubstr("It may be stuck: activity 'Charge' (event 2) was handed out once, came back "
                                "without a result, and no worker has taken it since"));
}

TEST_P(Explain, AnInstanceThatWaitsForAnEventOrATimerIsNotStuck) {
  begin("a", {event::ExternalSubscribed{"approved"}, event::TimerCreated{clock.now() + 24h}});
  clock.advance(2h);
  EXPECT_FALSE(explain("a").stuck);
}

TEST_P(Explain, AStuckGrandchildIsNamedAllTheWayUp) {
  begin("root", {child("orch", "child")});
  turn("child", {started(), child("orch", "grandchild")});
  turn("grandchild", {started(), activity("Nobody")});
  EXPECT_EQ(stuck("root"), "(not stuck)");
  clock.advance(1min);
  const Explanation e = explain("root");
  ASSERT_THAT(e.waits, SizeIs(1));
  EXPECT_EQ(e.waits[0].child, "child");
  EXPECT_EQ(e.waits[0].child_status, Status::running);
  EXPECT_EQ(e.waits[0].text,
            "sub-orchestration 'orch' (event 2), instance \"child\": is running: 'orch' 1.0.0, execution 1, "
            "2 events, "
            "last turn 1 min ago");
  EXPECT_EQ(e.stuck,
            "its sub-orchestration \"child\" is stuck: its sub-orchestration \"grandchild\" is stuck: no "
            "worker has "
            "taken activity 'Nobody' (event 2) in 1 min: is a runtime up that has it registered?");
}

TEST_P(Explain, MessagesThatAreHandedOutAgainAndAgainMakeItStuck) {
  client.start("a", "orch", "in").value();
  for (int i = 0; i < 3; ++i) {
    const LeasedInstance item = fetch("a");
    const TurnRelease back{{item.incarnation, item.lease}, {}, true};
    provider->release_turns(std::span(&back, 1)).value();
  }
  EXPECT_THAT(stuck("a"), HasSubstr("it was handed out 3 times and no turn was stored"));
}

TEST_P(Explain, AnInstanceThatANodeWorksOnIsNotStuck) {
  client.start("a", "orch", "in").value();
  clock.advance(5min);
  (void)fetch("a");
  EXPECT_FALSE(explain("a").stuck);
}

TEST_P(Explain, TheReasonsOfCancellationsAreInOrder) {
  begin("a", {activity("Slow"), event::TimerCreated{clock.now() + 1h}, activity("Ship")});
  clock.advance(1s);
  go_on("a", {{event::ActivityCancelRequested{CancelReason::select_loser}, 2}});
  clock.advance(1s);
  client.cancel("a", "customer changed her mind").value();
  turn("a", {event::OrchestrationCancelRequested{"customer changed her mind", CancelMode::graceful,
                                                 CancelOrigin::client},
             {event::ActivityCancelRequested{CancelReason::orchestration_terminal_cancelled}, 4},
             event::OrchestrationFailed{Failure::cancelled("customer changed her mind")}});
  clock.advance(1min);

  const Explanation e = explain("a");
  EXPECT_THAT(e.waits, IsEmpty());
  EXPECT_FALSE(e.stuck);
  ASSERT_TRUE(e.cancel_request);
  EXPECT_EQ(e.cancel_request->reason, "customer changed her mind");
  EXPECT_EQ(e.cancel_request->by, CancelOrigin::client);
  EXPECT_EQ(e.cancel_request->at, clock.now() - 1min);
  ASSERT_THAT(e.cancelled, SizeIs(2));
  EXPECT_EQ(e.cancelled[0].name, "Slow");
  EXPECT_EQ(e.cancelled[0].reason, CancelReason::select_loser);
  EXPECT_EQ(e.cancelled[1].name, "Ship");
  EXPECT_EQ(
      e.text,
      "\"a\" was cancelled 1 min ago ('orch' 1.0.0): customer changed her mind.\n"
      "It was asked to stop by a client 1 min ago (2025-06-15T15:06:42.000Z): customer changed her mind\n"
      "It gave up\n"
      "  - activity 'Slow' (event 2) 1 min 1 s ago: something it raced against was ready first "
      "(select_loser)\n"
      "  - activity 'Ship' (event 4) 1 min ago: the orchestration was cancelled "
      "(orchestration_terminal_cancelled)\n");
}

TEST_P(Explain, AChildThatItsParentCancelledNamesTheParent) {
  begin("root", {child("orch", "child")});
  event::OrchestrationStarted with_parent;
  with_parent.name = "orch";
  with_parent.version = "1.0.0";
  with_parent.parent = ParentLink{"root", {}, ExecutionId{1}, EventId{2}};
  turn("child",
       {with_parent,
        event::OrchestrationCancelRequested{"select_loser", CancelMode::graceful, CancelOrigin::parent},
        event::OrchestrationFailed{Failure::cancelled("select_loser")}});
  const Explanation e = explain("child");
  ASSERT_TRUE(e.cancel_request);
  EXPECT_EQ(e.cancel_request->parent, InstanceId{"root"});
  EXPECT_THAT(e.text, HasSubstr("It was asked to stop by its parent \"root\" just now"));
}

TEST_P(Explain, AFailureIsInTheStatus) {
  begin("a", {event::OrchestrationFailed{Failure::application("NoMoney", "the card is empty")}});
  clock.advance(3s);
  EXPECT_EQ(explain("a").status, "failed 3.000 s ago ('orch' 1.0.0): the card is empty");
}

TEST_P(Explain, TheTextHoldsStatusStuckAndWaits) {
  begin("a", {activity("Charge"), event::ExternalSubscribed{"approved"}}, [](TurnCommit& commit) {
    commit.events.push_back(
        {EventId{4}, {}, commit.events.back().timestamp, event::CustomStatusUpdated{"step 2 of 3"}});
    commit.change.custom_status = CustomStatusChange{"step 2 of 3"};
  });
  clock.advance(1min);
  EXPECT_EQ(
      explain("a").text,
      "\"a\" is running: 'orch' 1.0.0, execution 1, 4 events, last turn 1 min ago.\n"
      "Custom status: step 2 of 3\n"
      "It is stuck: no worker has taken activity 'Charge' (event 2) in 1 min: is a runtime up that has it "
      "registered?\n"
      "It waits for\n"
      "  - activity 'Charge' (event 2), scheduled 1 min ago: waits for a worker; not taken yet\n"
      "  - event 'approved' (event 3), since 1 min\n");
}

TEST_P(Explain, WithoutQueueListsOnlyHistoryIsExplained) {
  class Blind final : public ForwardingProvider {
   public:
    using ForwardingProvider::ForwardingProvider;
    Result<PendingWork> list_pending_work(const InstanceId& /*instance*/) override {
      return Error{ErrorCode::invalid_argument, "list_pending_work", "this store does not support it", false};
    }
  };
  begin("a", {activity("Charge"), event::TimerCreated{clock.now() + 1h}});
  clock.advance(10min);
  Client blind{Store(std::make_shared<Blind>(provider))};
  const Explanation e = blind.explain("a").value();
  EXPECT_THAT(e.waits, SizeIs(2));
  EXPECT_FALSE(e.stuck);
}

TEST_P(Explain, UnreadableMessagesAndHistoriesAreReported) {
  class Damaged final : public ForwardingProvider {
   public:
    using ForwardingProvider::ForwardingProvider;
    Result<PendingWork> list_pending_work(const InstanceId& instance) override {
      auto pending = ForwardingProvider::list_pending_work(instance);
      if (pending) pending->messages.at(0).unreadable = "unknown type \"Telepathy\"";
      return pending;
    }
    Result<std::vector<Event>> read_history(const InstanceId& instance, ExecutionId execution,
                                            EventId after) override {
      if (history_is_broken) return Error{ErrorCode::corrupt, "read_history", "event 2 is no JSON", false};
      return ForwardingProvider::read_history(instance, execution, after);
    }
    bool history_is_broken = false;
  };
  client.start("a", "orch", "in").value();
  const auto damaged = std::make_shared<Damaged>(provider);
  Client reader{Store(damaged)};
  EXPECT_THAT(reader.explain("a").value().stuck.value_or(""),
              HasSubstr("a message to it cannot be read: unknown type \"Telepathy\""));
  damaged->history_is_broken = true;
  EXPECT_EQ(reader.explain("a").value().stuck, "its history cannot be read: event 2 is no JSON");
}

TEST_P(Explain, ADeletedChildIsReported) {
  begin("root", {child("orch", "child")});
  class Childless final : public ForwardingProvider {
   public:
    using ForwardingProvider::ForwardingProvider;
    Result<std::optional<InstanceInfo>> get_instance(const InstanceId& instance) override {
      if (instance == "child") return std::optional<InstanceInfo>{};
      return ForwardingProvider::get_instance(instance);
    }
  };
  clock.advance(1min);
  Client childless{Store(std::make_shared<Childless>(provider))};
  const Explanation e = childless.explain("root").value();
  EXPECT_THAT(e.waits.at(0).text, HasSubstr("instance \"child\": does not exist"));
  EXPECT_THAT(e.stuck.value_or(""), HasSubstr("does not exist any more"));
}

}  // namespace
}  // namespace duramen::test
