// Heartbeats: what an attempt leaves for the next one.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

std::string details(const LeasedActivity& item) { return item.heartbeat ? item.heartbeat->data : "none"; }

void heartbeat_details_reach_the_next_attempt(Driver& d) {
  d.running("a", 1);
  const LeasedActivity first = d.fetch_one_work();
  d.check.equal(details(first), "none", "of the first attempt");
  d.check.equal(d.beat(first.lease, "10 of 100").outcome, RenewOutcome::renewed, "a heartbeat");
  d.check.equal(d.beat(first.lease, "20 of 100").outcome, RenewOutcome::renewed, "another");
  d.advance(d.lease);
  const LeasedActivity second = d.fetch_one_work();
  d.check.equal(details(second), "20 of 100", "after its lease ended");
  d.abandon(second);
  const LeasedActivity third = d.fetch_one_work();
  d.check.equal(details(third), "20 of 100", "after an attempt that said nothing");
  d.beat(third.lease, "30 of 100");
  d.abandon(third, 10s);
  d.advance(10s);
  d.check.equal(details(d.fetch_one_work()), "30 of 100", "after it was given back");
}

void a_heartbeat_extends_the_lease(Driver& d) {
  d.running("a", 1);
  const LeasedActivity work = d.fetch_one_work();
  for (int i = 0; i < 3; ++i) {
    d.advance(d.lease - 1ms);
    d.check.equal(d.beat(work.lease).outcome, RenewOutcome::renewed, "in time");
  }
  d.expect_no_work();
}

void a_heartbeat_without_details_keeps_those_before(Driver& d) {
  d.running("a", 1);
  const LeasedActivity first = d.fetch_one_work();
  d.beat(first.lease, "kept");
  d.beat(first.lease);
  d.renew(first.lease);
  d.abandon(first);
  const LeasedActivity second = d.fetch_one_work();
  d.check.equal(details(second), "kept", "details");
  d.beat(second.lease, "");
  d.abandon(second);
  const LeasedActivity third = d.fetch_one_work();
  d.check.that(third.heartbeat == Payload::text(""), "empty details");
}

void a_heartbeat_under_a_lost_lease_is_not_kept(Driver& d) {
  d.running("a", 1);
  const LeasedActivity first = d.fetch_one_work();
  d.beat(first.lease, "first");
  d.advance(d.lease);
  d.check.equal(d.beat(first.lease, "late").outcome, RenewOutcome::lease_lost, "after the lease ended");
  const LeasedActivity second = d.fetch_one_work();
  d.check.equal(details(second), "first", "details");
  d.check.equal(d.beat(first.lease, "later").outcome, RenewOutcome::lease_lost, "after a takeover");
  d.abandon(second);
  d.check.equal(details(d.fetch_one_work()), "first", "details after that");
}

void heartbeats_of_one_call_are_kept_one_by_one(Driver& d) {
  d.running("a", 4);
  const auto work = d.fetch_work();
  if (work.size() != 4) d.stop("four activities");
  const Heartbeat one{Payload::json(R"({"done":1})")};
  const std::vector<ActivityRenewal> renewals{
      {work[0].lease, one},
      {work[1].lease},
      {{work[2].lease.key, work[0].lease.token}, Heartbeat{Payload::text("x")}},
      {work[3].lease, Heartbeat{Payload::text("y")}}};
  const auto answers = d.get(d.store.renew_activities(renewals, d.lease));
  if (answers.size() != 4) d.stop("one answer per lease");
  d.check.equal(answers[2].outcome, RenewOutcome::lease_lost, "another row's token");
  for (const auto& item : work) d.abandon(item);
  for (const auto& expected : {one.details, std::optional<Payload>{}, {}, {Payload::text("y")}}) {
    d.check.that(d.fetch_one_work().heartbeat == expected, "details, with their encoding");
  }
}

void a_row_born_leased_takes_heartbeats(Driver& d) {
  d.running("a");
  TurnCommit commit = d.turn(d.woken("a"));
  commit.events = {scheduled(2)};
  commit.new_activities = {Driver::activity(d.info("a").value(), 2)};
  commit.new_activities[0].born_leased = LeaseToken{4711};
  d.must_commit(commit);
  d.beat({commit.new_activities[0].request.key, LeaseToken{4711}}, "born");
  d.advance(d.lease);
  d.check.equal(details(d.fetch_one_work()), "born", "details");
}

void a_cancelled_activity_answers_a_heartbeat_with_the_reason(Driver& d) {
  d.running("a", 1);
  const LeasedActivity work = d.fetch_one_work();
  TurnCommit commit = d.turn(d.woken("a"));
  commit.cancelled_activities = {{EventId{2}, CancelReason::select_loser}};
  d.must_commit(commit);
  const RenewResult result = d.beat(work.lease, "still here");
  d.check.that(result.outcome == RenewOutcome::cancelled && result.reason == CancelReason::select_loser,
               "the answer");
  d.expect_no_work();
}

constexpr ConformanceCase cases[] = {
    {"heartbeat_details_reach_the_next_attempt",
     "An attempt that ended without a result leaves its last details.",
     told<heartbeat_details_reach_the_next_attempt>},
    {"a_heartbeat_extends_the_lease", "A sign of life is a renewal.", told<a_heartbeat_extends_the_lease>},
    {"a_heartbeat_without_details_keeps_those_before", "Absent is not empty.",
     told<a_heartbeat_without_details_keeps_those_before>},
    {"a_heartbeat_under_a_lost_lease_is_not_kept", "Only who holds the activity speaks for it.",
     told<a_heartbeat_under_a_lost_lease_is_not_kept>},
    {"heartbeats_of_one_call_are_kept_one_by_one", "Each lease of a batch has its own details.",
     told<heartbeats_of_one_call_are_kept_one_by_one>},
    {"a_row_born_leased_takes_heartbeats", "Its holder speaks for it like any other.",
     told<a_row_born_leased_takes_heartbeats>},
    {"a_cancelled_activity_answers_a_heartbeat_with_the_reason", "A sign of life does not bring it back.",
     told<a_cancelled_activity_answers_a_heartbeat_with_the_reason>},
};

}  // namespace

std::span<const ConformanceCase> heartbeat_cases() { return cases; }

}  // namespace duramen::inline v0::testing
