// Heartbeats: the details that an attempt leaves for the next one.
#include "testing/conformance/driver.hpp"
#include <duramen/limits.hpp>

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

std::string details_of(const LeasedActivity& item) { return item.heartbeat ? item.heartbeat->data : "none"; }

void heartbeat_details_reach_the_next_attempt(Driver& d) {
  d.running("a", 1);
  const LeasedActivity first = d.fetch_one_activity();
  d.check.equal(details_of(first), "none", "of the first attempt");
  d.check.equal(d.beat(first.lease, "10 of 100").outcome, RenewOutcome::renewed, "a heartbeat");
  d.check.equal(d.beat(first.lease, "20 of 100").outcome, RenewOutcome::renewed, "another");
  d.advance(d.lease);
  const LeasedActivity second = d.fetch_one_activity();
  d.check.equal(details_of(second), "20 of 100", "after its lease ended");
  d.release(second);
  const LeasedActivity third = d.fetch_one_activity();
  d.check.equal(details_of(third), "20 of 100", "after an attempt without a heartbeat");
  d.beat(third.lease, "30 of 100");
  d.release(third, 10s);
  d.advance(10s);
  d.check.equal(details_of(d.fetch_one_activity()), "30 of 100", "after it was released");
}

void the_details_of_an_earlier_attempt_come_with_the_request(Driver& d) {
  d.running("a");
  ActivityRequest retry = plain();
  retry.retry_of = EventId{1};
  retry.attempts_before = 2;
  retry.heartbeat = Payload::text("from before");
  d.schedule("a", {retry});
  const LeasedActivity first = d.fetch_one_activity();
  d.check.equal(details_of(first), "from before", "of the first attempt");
  d.check.equal(first.request.retry_of, EventId{1}, "retry_of");
  d.check.equal(first.request.attempts_before, 2u, "attempts_before");
  d.check.equal(first.attempt, 1u, "attempt");
  d.release(first);
  const LeasedActivity second = d.fetch_one_activity();
  d.check.equal(details_of(second), "from before", "of an attempt after one without a heartbeat");
  d.beat(second.lease, "newer");
  d.release(second);
  d.check.equal(details_of(d.fetch_one_activity()), "newer", "after a heartbeat");
}

void a_failure_carries_its_attempt_and_the_last_details(Driver& d) {
  d.running("a", 2);
  const auto activities = d.fetch_activities();
  if (activities.size() != 2) d.stop("two activities");
  d.beat(activities[0].lease, "halfway");
  d.beat(activities[1].lease, "halfway");
  const AttemptInfo ran{d.now() - 5s, 4, "worker"};
  ActivityAck failed{activities[0].lease, "a", Failure{.type = "T", .message = "m"}, ran};
  ActivityAck completed = Driver::completion(activities[1]);
  completed.ran = ran;
  d.ack(failed);
  d.ack(completed);
  const LeasedInstance item = d.fetch_one();
  if (item.messages.size() != 2) d.stop("two messages");
  const auto* failure = std::get_if<message::ActivityFailed>(&item.messages[0].body);
  const auto* result = std::get_if<message::ActivityCompleted>(&item.messages[1].body);
  if (!failure || !result) d.stop("a failure and a result");
  d.check.that(failure->ran == ran, "the attempt of a failure");
  d.check.that(failure->heartbeat == Payload::text("halfway"), "the details of a failure");
  d.check.that(result->ran == ran, "the attempt of a result");
}

void details_that_come_with_a_failure_replace_those_of_the_row(Driver& d) {
  const InstanceInfo info = d.running("a", 2);
  const auto activities = d.fetch_activities();
  if (activities.size() != 2) d.stop("two activities");
  std::vector<ActivityAck> acks;
  for (const LeasedActivity& activity : activities) {
    d.beat(activity.lease, "old");
    ActivityAck& failed = acks.emplace_back(
        ActivityAck{activity.lease, "a", Failure{.type = "T", .message = "heartbeat"}, AttemptInfo{}});
    failed.heartbeat = Payload::json("[1]");
  }
  d.ack(acks[0]);
  // Its condition does not hold: the failure is enqueued without the turn.
  TurnCommit refused = d.conditional(info, info.last_event_id);
  refused.activity_acks = {acks[1]};
  refused.events = {make_event(info.last_event_id.next().value, event::ActivityFailed{}, 3)};
  d.check.equal(d.commit(refused).outcome, CommitOutcome::condition_failed, "outcome of the turn");
  const LeasedInstance item = d.fetch_one();
  d.check.equal(item.messages.size(), 2u, "messages");
  for (const InboxMessage& message : item.messages) {
    const auto* failure = std::get_if<message::ActivityFailed>(&message.body);
    d.check.that(failure && failure->heartbeat == acks[0].heartbeat, "details of a failure");
  }
}

void a_failure_takes_no_details_from_the_row_that_are_too_large_for_a_retry(Driver& d) {
  d.running("a", 2);
  const auto activities = d.fetch_activities();
  if (activities.size() != 2) d.stop("two activities");
  const std::string largest(max_retry_details_bytes, 'x');
  d.beat(activities[0].lease, largest);
  d.beat(activities[1].lease, largest + "x");
  for (const LeasedActivity& activity : activities)
    d.ack(ActivityAck{activity.lease, "a", Failure{.type = "T", .message = "m"}, AttemptInfo{}});
  const LeasedInstance item = d.fetch_one();
  if (item.messages.size() != 2) d.stop("two messages");
  const auto* fits = std::get_if<message::ActivityFailed>(&item.messages[0].body);
  const auto* larger = std::get_if<message::ActivityFailed>(&item.messages[1].body);
  if (!fits || !larger) d.stop("two failures");
  d.check.that(fits->heartbeat == Payload::text(largest), "the largest details");
  d.check.that(!larger->heartbeat, "one byte more");
}

void a_heartbeat_extends_the_lease(Driver& d) {
  d.running("a", 1);
  const LeasedActivity activity = d.fetch_one_activity();
  for (int i = 0; i < 3; ++i) {
    d.advance(d.lease - 1ms);
    d.check.equal(d.beat(activity.lease).outcome, RenewOutcome::renewed, "in time");
  }
  d.expect_no_activities();
}

void a_heartbeat_without_details_keeps_the_last_details(Driver& d) {
  d.running("a", 1);
  const LeasedActivity first = d.fetch_one_activity();
  d.beat(first.lease, "kept");
  d.beat(first.lease);
  d.renew(first.lease);
  d.release(first);
  const LeasedActivity second = d.fetch_one_activity();
  d.check.equal(details_of(second), "kept", "details");
  d.beat(second.lease, "");
  d.release(second);
  const LeasedActivity third = d.fetch_one_activity();
  d.check.that(third.heartbeat == Payload::text(""), "empty details");
}

void a_heartbeat_under_a_lost_lease_is_ignored(Driver& d) {
  d.running("a", 1);
  const LeasedActivity first = d.fetch_one_activity();
  d.beat(first.lease, "first");
  d.advance(d.lease);
  d.check.equal(d.beat(first.lease, "late").outcome, RenewOutcome::lease_lost, "after the lease ended");
  const LeasedActivity second = d.fetch_one_activity();
  d.check.equal(details_of(second), "first", "details");
  d.check.equal(d.beat(first.lease, "later").outcome, RenewOutcome::lease_lost, "after a takeover");
  d.release(second);
  d.check.equal(details_of(d.fetch_one_activity()), "first", "details after that");
}

void each_heartbeat_of_a_batch_keeps_its_own_details(Driver& d) {
  d.running("a", 4);
  const auto activities = d.fetch_activities();
  if (activities.size() != 4) d.stop("four activities");
  const Heartbeat one{Payload::json(R"({"done":1})")};
  const std::vector<ActivityRenewal> renewals{
      {activities[0].lease, one},
      {activities[1].lease},
      {{activities[2].lease.key, activities[0].lease.token}, Heartbeat{Payload::text("x")}},
      {activities[3].lease, Heartbeat{Payload::text("y")}}};
  const auto answers = d.get(d.store.renew_activities(renewals, d.lease));
  if (answers.size() != 4) d.stop("one answer per lease");
  d.check.equal(answers[2].outcome, RenewOutcome::lease_lost, "another row's token");
  for (const auto& item : activities) d.release(item);
  for (const auto& expected : {one.details, std::optional<Payload>{}, {}, {Payload::text("y")}}) {
    d.check.that(d.fetch_one_activity().heartbeat == expected, "details, with their encoding");
  }
}

void an_activity_born_leased_accepts_heartbeats(Driver& d) {
  d.running("a");
  TurnCommit commit = d.turn(d.woken("a"));
  commit.events = {scheduled(2)};
  commit.new_activities = {Driver::activity(d.info("a").value(), 2)};
  commit.new_activities[0].born_leased = LeaseToken{4711};
  d.must_commit(commit);
  d.beat({commit.new_activities[0].request.key, LeaseToken{4711}}, "born");
  d.advance(d.lease);
  d.check.equal(details_of(d.fetch_one_activity()), "born", "details");
}

void a_heartbeat_of_a_cancelled_activity_returns_the_reason(Driver& d) {
  d.running("a", 1);
  const LeasedActivity activity = d.fetch_one_activity();
  TurnCommit commit = d.turn(d.woken("a"));
  commit.cancelled_activities = {{EventId{2}, CancelReason::select_loser}};
  d.must_commit(commit);
  const RenewResult result = d.beat(activity.lease, "still here");
  d.check.that(result.outcome == RenewOutcome::cancelled && result.reason == CancelReason::select_loser,
               "the answer");
  d.expect_no_activities();
}

}  // namespace

std::span<const ConformanceCase> heartbeat_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(heartbeat_details_reach_the_next_attempt),
      DURAMEN_CASE(the_details_of_an_earlier_attempt_come_with_the_request),
      DURAMEN_CASE(a_failure_carries_its_attempt_and_the_last_details),
      DURAMEN_CASE(details_that_come_with_a_failure_replace_those_of_the_row),
      DURAMEN_CASE(a_failure_takes_no_details_from_the_row_that_are_too_large_for_a_retry),
      DURAMEN_CASE(a_heartbeat_extends_the_lease),
      DURAMEN_CASE(a_heartbeat_without_details_keeps_the_last_details),
      DURAMEN_CASE(a_heartbeat_under_a_lost_lease_is_ignored),
      DURAMEN_CASE(each_heartbeat_of_a_batch_keeps_its_own_details),
      DURAMEN_CASE(an_activity_born_leased_accepts_heartbeats),
      DURAMEN_CASE(a_heartbeat_of_a_cancelled_activity_returns_the_reason),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
