// Commits: each turn is stored whole or not at all, independently of others, and once.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

void a_commit_stores_events_activities_messages_and_state_together(Driver& d) {
  d.start("a");
  const LeasedInstance item = d.fetch_one();
  const InstanceInfo info = d.info("a").value();
  TurnCommit commit = d.turn(item);
  commit.events = {started(), scheduled(2), scheduled(3), scheduled(4), raised(5, "x")};
  for (std::uint64_t id : {2, 3, 4}) commit.new_activities.push_back(Driver::activity(info, id));
  commit.messages = {timer("a", 9, d.now() - 1s), {"a", raise("own")}};
  commit.change.version = "2.0.0";
  const CommitResult result = d.must_commit(commit);
  d.check.equal(result.incarnation, item.incarnation, "incarnation in the answer");
  d.check.that(result.stolen.empty(), "no lease was stolen");
  d.check.that(d.history("a") == commit.events, "events are stored as they were sent");
  d.check.equal(d.fetch_activities().size(), 3u, "activities");
  const LeasedInstance next = d.fetch_one();
  d.check.equal(names_of(next.messages), "t9 own", "messages");
  d.check.equal(next.last_event_id, EventId{5}, "last event");
  d.check.equal(next.version, "2.0.0", "version");
  d.check.equal(next.status, Status::running, "status");
}

void read_history_returns_the_events_after_an_id(Driver& d) {
  d.running("a", 3);
  TurnCommit commit = d.turn(d.woken("a"));
  commit.events = {raised(5, "x"), raised(6, "y")};
  d.must_commit(commit);
  d.check.equal(d.history("a").size(), 6u, "all events");
  for (std::uint64_t after = 0; after <= 7; ++after) {
    const auto events = d.history("a", 1, after);
    d.check.equal(events.size(), after < 6 ? 6 - after : 0, "events after " + std::to_string(after));
    if (!events.empty()) d.check.equal(events[0].id.value, after + 1, "the first of them");
  }
}

void read_histories_answers_each_request_like_read_history(Driver& d) {
  d.running("a", 3);
  d.running("b", 5);
  const std::vector<HistoryRequest> wanted{{"b", ExecutionId{1}, EventId{2}},
                                           {"unknown", ExecutionId{1}, {}},
                                           {"a", ExecutionId{1}, {}},
                                           {"a", ExecutionId{2}, {}},
                                           {"b", ExecutionId{1}, EventId{2}}};
  const auto together = d.store.read_histories(wanted);
  d.check.equal(together.size(), wanted.size(), "answers");
  for (std::size_t i = 0; i < wanted.size() && i < together.size(); ++i) {
    const auto alone = d.store.read_history(wanted[i].instance, wanted[i].execution, wanted[i].after);
    d.check.that(together[i] && alone && *together[i] == *alone, "answer " + std::to_string(i));
  }
  d.check.that(d.store.read_histories({}).empty(), "no answers without requests");
}

void output_and_failure_of_an_ended_instance_are_kept(Driver& d) {
  d.finished("done");
  const InstanceInfo done = d.info("done").value();
  d.check.equal(done.status, Status::completed, "status");
  d.check.that(done.output == Payload::text("out"), "output");
  d.check.that(!done.failure, "no failure");

  d.running("bad");
  const Failure failure{.kind = FailureKind::timeout,
                        .type = "T",
                        .message = "m\n",
                        .retryable = true,
                        .details = R"({"a":1})",
                        .attempt = 3,
                        .timeout = TimeoutKind::heartbeat};
  TurnCommit commit = d.turn(d.woken("bad"));
  d.advance(5s);
  commit.events = {make_event(2, event::OrchestrationFailed{failure})};
  commit.change.status = Status::failed;
  commit.change.failure = failure;
  d.must_commit(commit);
  const InstanceInfo bad = d.info("bad").value();
  d.check.equal(bad.status, Status::failed, "status");
  d.check.that(bad.failure == failure, "the failure keeps its structure");
  d.check.equal(bad.updated_at, d.now(), "updated_at");
  d.check.equal(bad.created_at, d.now() - 5s, "created_at");
}

void a_turn_may_only_consume_messages(Driver& d) {
  d.running("a");
  d.must_commit(d.turn(d.woken("a")));
  d.check.equal(d.history("a").size(), 1u, "events");
  d.check.equal(d.info("a")->last_event_id, EventId{1}, "last event");
  d.expect_nothing_to_do();
}

void event_ids_that_do_not_continue_history_are_invalid(Driver& d) {
  d.running("a", 1);
  const LeasedInstance item = d.woken("a");
  const std::vector<std::vector<std::uint64_t>> wrong{{2}, {1}, {4}, {0}, {3, 5}, {3, 3}, {4, 3}};
  for (const auto& ids : wrong) {
    TurnCommit commit = d.turn(item);
    for (std::uint64_t id : ids) commit.events.push_back(raised(id, "x"));
    commit.new_activities = {Driver::activity(d.info("a").value(), 3)};
    commit.messages = {{"a", raise("own")}};
    d.check.equal(d.commit(commit).outcome, CommitOutcome::invalid, "ids that do not continue after 2");
  }
  d.check.equal(d.history("a").size(), 2u, "events: nothing was stored");
  d.check.equal(d.fetch_activities().size(), 1u, "activities: nothing was stored");
  d.check.that(d.renew(item), "the lease is still held");
  TurnCommit good = d.turn(item);
  good.events = {raised(3, "x")};
  d.must_commit(good);
  d.expect_nothing_to_do();
}

void an_execution_number_that_is_not_due_is_invalid(Driver& d) {
  d.running("a");
  const LeasedInstance item = d.woken("a");
  for (std::uint64_t execution : {2, 3}) {
    TurnCommit commit = d.turn(item);
    commit.execution = ExecutionId{execution};
    commit.events = {started()};
    d.check.equal(d.commit(commit).outcome, CommitOutcome::invalid, "an execution that is not due");
  }
  d.check.equal(d.info("a")->execution, ExecutionId{1}, "execution");
}

void an_invalid_commit_returns_a_message(Driver& d) {
  d.running("held");
  d.running("free", 1);
  TurnCommit held = d.turn(d.woken("held"));
  held.events = {raised(7, "x")};
  TurnCommit conditional = d.conditional(d.info("free").value(), EventId{2});
  conditional.execution = ExecutionId{2};
  conditional.events = {started()};
  TurnCommit fused = d.fused("new");
  fused.execution = ExecutionId{2};
  const std::vector<CommitResult> results = d.commit_all({held, conditional, fused});
  for (const CommitResult& result : results) {
    d.check.equal(result.outcome, CommitOutcome::invalid, "outcome");
    d.check.that(!result.message.empty(), "the reason, for the log and the failure of the instance");
  }
  d.check.that(!d.info("new"), "the fused start made no instance");
}

void commits_in_one_batch_are_independent(Driver& d) {
  for (const char* id : {"lost", "bad", "good"}) d.running(id);
  for (const char* id : {"lost", "bad", "good"}) d.send(id, raise("wake"));
  std::vector<TurnCommit> commits;
  LeasedInstance bad;
  for (const auto& item : d.fetch()) {
    TurnCommit commit = d.turn(item);
    commit.events = {raised(2, "x")};
    if (item.instance == InstanceId{"lost"}) commit.basis = HeldLease{LeaseToken{item.lease.value ^ 1}};
    if (item.instance == InstanceId{"bad"}) {
      commit.events = {raised(7, "x")};
      bad = item;
    }
    commits.push_back(commit);
  }
  if (commits.size() != 3) d.stop("three instances have something to do");
  const auto results = d.commit_all(commits);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string id = commits[i].instance.value;
    const auto expected = id == "lost"  ? CommitOutcome::lease_lost
                          : id == "bad" ? CommitOutcome::invalid
                                        : CommitOutcome::committed;
    d.check.equal(results[i].outcome, expected, "outcome of " + id);
    d.check.equal(d.history(id).size(), id == "good" ? 2u : 1u, "events of " + id);
  }
  TurnCommit corrected = d.turn(bad);
  corrected.events = {raised(2, "x")};
  d.must_commit(corrected);
}

void a_preempted_batch_is_stored_from_its_beginning(Driver& d) {
  const std::vector<std::string> ids{"a", "b", "c", "d"};
  for (const std::string& id : ids) d.running(id);
  for (const std::string& id : ids) d.send(id, raise("wake"));
  std::vector<TurnCommit> commits;
  for (const auto& item : d.fetch()) {
    TurnCommit commit = d.turn(item);
    commit.events = {raised(2, "x")};
    commits.push_back(commit);
  }
  if (commits.size() != ids.size()) d.stop("four instances have something to do");
  std::stop_source preempt;
  preempt.request_stop();
  const auto results = d.get(d.store.commit_turns(commits, preempt.get_token()));
  if (!d.check.that(results.size() <= commits.size(), "an answer for each commit, or fewer")) return;
  for (std::size_t i = 0; i < commits.size(); ++i) {
    const bool stored = i < results.size();
    if (stored) d.check.equal(results[i].outcome, CommitOutcome::committed, "outcome of a stored turn");
    d.check.equal(d.history(commits[i].instance).size(), stored ? 2u : 1u, "events of one of them");
  }
  // The store kept nothing of the others.
  for (std::size_t i = results.size(); i < commits.size(); ++i) {
    d.must_commit(commits[i]);
    d.check.equal(d.history(commits[i].instance).size(), 2u, "events after the second commit");
  }
}

void a_commit_ends_its_lease(Driver& d) {
  d.running("a");
  const LeasedInstance item = d.woken("a");
  TurnCommit first = d.turn(item);
  first.events = {raised(2, "x")};
  d.must_commit(first);
  TurnCommit second = d.turn(item);
  second.events = {raised(3, "y")};
  d.check.equal(d.commit(second).outcome, CommitOutcome::lease_lost, "the lease ended with the first commit");
  d.check.that(d.history("a", 1, 1) == first.events, "only the first is stored");
}

void messages_of_a_batch_do_not_fail_its_conditional_turns(Driver& d) {
  const InstanceInfo b = d.running("b");
  d.running("a");
  TurnCommit sends = d.turn(d.woken("a"));
  sends.messages = {{"b", raise("from a")}};
  TurnCommit conditional = d.conditional(b, b.last_event_id);
  conditional.events = {raised(2, "x")};
  const auto results = d.commit_all({sends, conditional});
  d.check.equal(results.at(0).outcome, CommitOutcome::committed, "the sender");
  d.check.equal(results.at(1).outcome, CommitOutcome::committed, "the conditional turn of its target");
  const LeasedInstance next = d.fetch_one();
  d.check.equal(names_of(next.messages), "from a", "the message comes after");
  d.check.equal(next.last_event_id, EventId{2}, "last event");
}

void a_repeated_commit_under_a_held_lease_is_recognised(Driver& d) {
  const InstanceInfo info = d.running("a");
  TurnCommit commit = d.turn(d.woken("a"));
  commit.events = {scheduled(2)};
  commit.new_activities = {Driver::activity(info, 2)};
  commit.messages = {{"a", raise("own")}};
  d.must_commit(commit);
  const CommitResult again = d.commit(commit);
  d.check.equal(again.outcome, CommitOutcome::already_committed, "sent again");
  d.check.equal(again.incarnation, info.incarnation, "incarnation in the answer");
  d.check.equal(d.history("a").size(), 2u, "events");
  d.check.equal(d.fetch_activities().size(), 1u, "activities");
  const LeasedInstance item = d.fetch_one();
  d.check.equal(names_of(item.messages), "own", "messages");
  d.check.equal(d.commit(commit).outcome, CommitOutcome::already_committed, "sent again under a new lease");
  d.check.that(d.renew(item), "the new lease is untouched");
}

void a_repeated_conditional_commit_is_recognised(Driver& d) {
  const InstanceInfo info = d.running("a", 1);
  const LeasedActivity activity = d.fetch_one_activity();
  TurnCommit commit = d.conditional(info, info.last_event_id);
  commit.activity_acks = {Driver::completion(activity)};
  commit.events = {raised(3, "x")};
  d.must_commit(commit);
  d.check.equal(d.commit(commit).outcome, CommitOutcome::already_committed, "sent again");
  d.check.equal(d.history("a").size(), 3u, "events");
  d.expect_nothing_to_do();
}

void a_repeated_fused_start_is_recognised(Driver& d) {
  const TurnCommit commit = d.fused("a");
  const CommitResult first = d.must_commit(commit);
  const CommitResult again = d.commit(commit);
  d.check.equal(again.outcome, CommitOutcome::already_committed, "sent again");
  d.check.equal(again.incarnation, first.incarnation, "incarnation in the answer");
  d.check.equal(d.history("a").size(), 1u, "events");
}

void an_older_commit_is_not_stored_again(Driver& d) {
  d.running("a");
  TurnCommit first = d.turn(d.woken("a"));
  first.events = {raised(2, "x")};
  d.must_commit(first);
  TurnCommit second = d.turn(d.woken("a"));
  second.events = {raised(3, "y")};
  d.must_commit(second);
  d.check.that(d.commit(first).outcome != CommitOutcome::committed, "an older commit, sent again");
  d.check.equal(d.history("a").size(), 3u, "events");
}

void dropped_timers_never_fire(Driver& d) {
  d.running("a");
  TurnCommit create = d.turn(d.woken("a"));
  const TimePoint now = d.now();
  create.messages = {timer("a", 2, now + 10s), timer("a", 3, now + 20s), timer("a", 4, now + 5s)};
  create.dropped_timers = {EventId{4}};
  d.must_commit(create);
  d.advance(9s);
  // Timer 4 was created and dropped in one turn: it never existed.
  d.expect_nothing_to_do();
  const LeasedInstance item = d.woken("a");
  // Timer 2 is visible now, but not part of this turn.
  d.advance(6s);
  TurnCommit drop = d.turn(item);
  drop.dropped_timers = {EventId{2}, EventId{77}};
  d.must_commit(drop);
  const TurnBatch batch = d.fetch_batch({});
  d.check.equal(batch.items.size(), 0u, "a dropped timer that was due already");
  d.expect_due(batch.next_due, now + 20s);
  d.advance(10s);
  const LeasedInstance fired = d.fetch_one();
  d.check.equal(fired.messages.size(), 1u, "messages");
  const auto* timer_fired = std::get_if<message::TimerFired>(&fired.messages.at(0).body);
  d.check.that(timer_fired && timer_fired->id == EventId{3}, "only the other timer fires");
}

void dropping_a_timer_keeps_other_messages_of_its_number(Driver& d) {
  d.running("a");
  d.running("b");
  TurnCommit create = d.turn(d.woken("b"));
  create.messages = {timer("b", 2, d.now() + 1s)};
  d.must_commit(create);
  d.send("a", message::ActivityCompleted{ExecutionId{1}, EventId{2}, Payload::text("x")});
  TurnCommit drop = d.turn(d.fetch_one());
  d.send("a", message::ActivityCompleted{ExecutionId{1}, EventId{2}, Payload::text("y")});
  drop.dropped_timers = {EventId{2}};
  d.must_commit(drop);
  d.check.equal(d.fetch_one().instance, InstanceId{"a"}, "a completion of the same number stays");
  d.advance(1s);
  d.check.equal(d.fetch_one().instance, InstanceId{"b"}, "another instance's timer of that number stays");
}

void cancel_rest_deletes_all_activities_and_timers(Driver& d) {
  d.running("other", 1);
  const LeasedActivity of_other = d.fetch_one_activity();
  d.running("a", 3);
  const auto held = d.fetch_activities_as(d.other, 1);
  if (held.size() != 1) d.stop("an activity to hold");
  TurnCommit create = d.turn(d.woken("a"));
  create.messages = {timer("a", 9, d.now() + 10s)};
  d.must_commit(create);

  TurnCommit last = d.final_turn(d.woken("a"));
  last.cancel_rest = CancelReason::orchestration_terminal_failed;
  const CommitResult result = d.must_commit(last);
  d.check.equal(result.stolen.size(), 1u, "stolen leases: the one that was held");
  if (!result.stolen.empty()) {
    d.check.that(result.stolen[0].lease == held[0].lease, "which lease");
    d.check.equal(result.stolen[0].reason, CancelReason::orchestration_terminal_failed,
                  "with the reason given");
  }
  d.expect_no_activities();
  const TurnBatch batch = d.fetch_batch({});
  d.check.that(batch.items.empty() && !batch.next_due, "no timer is left");
  d.check.equal(d.renew(of_other.lease).outcome, RenewOutcome::renewed, "another instance's activity");
}

void continue_as_new_begins_an_execution_and_keeps_the_queue(Driver& d) {
  const InstanceInfo info = d.running("a", 1);
  const LeasedInstance item = d.woken("a");
  d.send("a", raise("kept"));
  TurnCommit end = d.turn(item);
  end.events = {make_event(3, event::OrchestrationContinuedAsNew{Payload::text("in2")})};
  end.change.status = Status::continued_as_new;
  end.cancel_rest = CancelReason::orchestration_terminal_continued_as_new;
  end.messages = {{"a", message::ContinueAsNew{.orchestration = "Orch", .input = Payload::text("in2")}}};
  d.must_commit(end);
  d.expect_no_activities();
  d.check.that(d.send("a", raise("later")) == EnqueueOutcome::enqueued, "it still takes messages");

  const LeasedInstance next = d.fetch_one();
  d.check.equal(names_of(next.messages), "? kept later", "messages survive, behind the beginning");
  d.check.equal(next.incarnation, info.incarnation, "the instance stays the same");
  d.check.equal(next.status, Status::continued_as_new, "status in between");
  TurnCommit skipped = d.turn(next);
  skipped.execution = ExecutionId{3};
  skipped.events = {started()};
  d.check.equal(d.commit(skipped).outcome, CommitOutcome::invalid, "an execution may not be skipped");
  TurnCommit first = d.turn(next);
  first.execution = ExecutionId{2};
  first.events = {started(), scheduled(2)};
  first.change.version = "2.0.0";
  first.new_activities = {Driver::activity(info, 2, 2)};
  d.must_commit(first);

  const InstanceInfo after = d.info("a").value();
  d.check.equal(after.execution, ExecutionId{2}, "execution");
  d.check.equal(after.status, Status::running, "status");
  d.check.equal(after.version, "2.0.0", "version");
  d.check.equal(after.last_event_id, EventId{2}, "last event, of the new execution");
  d.check.equal(d.history("a", 1).size(), 3u, "events of execution 1");
  d.check.equal(d.history("a", 2).size(), 2u, "events of execution 2");
  d.check.equal(d.fetch_one_activity().request.key.execution, ExecutionId{2}, "activity of execution 2");
  const LeasedInstance again = d.woken("a");
  d.check.equal(again.execution, ExecutionId{2}, "execution of the next fetch");
  TurnCommit more = d.turn(again);
  more.events = {raised(3, "x")};
  d.must_commit(more);
}

}  // namespace

std::span<const ConformanceCase> commit_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(a_commit_stores_events_activities_messages_and_state_together,
                   .reference = "test_multi_operation_atomic_ack"),
      DURAMEN_CASE(read_history_returns_the_events_after_an_id),
      DURAMEN_CASE(read_histories_answers_each_request_like_read_history),
      DURAMEN_CASE(output_and_failure_of_an_ended_instance_are_kept),
      DURAMEN_CASE(a_turn_may_only_consume_messages),
      DURAMEN_CASE(event_ids_that_do_not_continue_history_are_invalid,
                   .reference = "test_duplicate_event_id_rejection",
                   .difference = "the answer is `invalid`; ids that skip one are also refused"),
      DURAMEN_CASE(an_execution_number_that_is_not_due_is_invalid),
      DURAMEN_CASE(an_invalid_commit_returns_a_message),
      DURAMEN_CASE(commits_in_one_batch_are_independent),
      DURAMEN_CASE(a_preempted_batch_is_stored_from_its_beginning),
      DURAMEN_CASE(a_commit_ends_its_lease),
      DURAMEN_CASE(messages_of_a_batch_do_not_fail_its_conditional_turns),
      DURAMEN_CASE(a_repeated_commit_under_a_held_lease_is_recognised),
      DURAMEN_CASE(a_repeated_conditional_commit_is_recognised),
      DURAMEN_CASE(a_repeated_fused_start_is_recognised),
      DURAMEN_CASE(an_older_commit_is_not_stored_again),
      DURAMEN_CASE(dropped_timers_never_fire),
      DURAMEN_CASE(dropping_a_timer_keeps_other_messages_of_its_number),
      DURAMEN_CASE(cancel_rest_deletes_all_activities_and_timers),
      DURAMEN_CASE(continue_as_new_begins_an_execution_and_keeps_the_queue,
                   .reference = "test_continue_as_new_creates_new_execution",
                   .difference = "the check does not depend on the queue"),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
