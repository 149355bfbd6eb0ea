// Replay tokens: a node that remembers an execution learns whether the store still holds what it remembers.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// A running instance whose event 2 was stored by the commit that is returned.
TurnCommit second_turn(Driver& d) {
  d.running("a");
  TurnCommit commit = d.turn(d.woken("a"));
  commit.events = {raised(2, "x")};
  d.must_commit(commit);
  return commit;
}

HistoryRequest after(std::uint64_t event, CommitToken token) {
  return {"a", ExecutionId{1}, EventId{event}, token};
}

void a_fetch_returns_the_token_of_the_last_events(Driver& d) {
  d.start("a");
  const LeasedInstance pending = d.fetch_one();
  d.check.that(!pending.replay_token, "none before the first turn");
  TurnCommit first = d.turn(pending);
  first.events = {started()};
  d.must_commit(first);
  const LeasedInstance second = d.woken("a");
  d.check.equal(second.replay_token, first.token, "after the first turn");
  d.must_commit(d.turn(second));
  const LeasedInstance third = d.woken("a");
  d.check.equal(third.replay_token, first.token, "after a turn without events");
  TurnCommit next = d.turn(third);
  next.events = {raised(2, "x")};
  d.must_commit(next);
  d.check.equal(d.woken("a").replay_token, next.token, "after a turn with events");
}

void a_fused_and_a_conditional_turn_leave_their_tokens(Driver& d) {
  const TurnCommit fused = d.fused("a");
  d.must_commit(fused);
  const InstanceInfo info = d.info("a").value();
  TurnCommit commit = d.conditional(info, info.last_event_id);
  std::get<ConditionalLease>(commit.basis).replay_token = fused.token;
  commit.events = {raised(2, "x")};
  d.must_commit(commit);
  d.check.equal(d.woken("a").replay_token, commit.token, "token");
}

void a_conditional_commit_demands_the_token_it_names(Driver& d) {
  const TurnCommit stored = second_turn(d);
  const InstanceInfo info = d.info("a").value();
  TurnCommit commit = d.conditional(info, info.last_event_id);
  commit.events = {raised(3, "y")};
  std::get<ConditionalLease>(commit.basis).replay_token = CommitToken{stored.token.value + 4711};
  d.check.equal(d.commit(commit).outcome, CommitOutcome::condition_failed, "another token");
  d.check.equal(d.history("a").size(), 2u, "events: nothing was stored");
  commit.token = d.new_commit_token();
  std::get<ConditionalLease>(commit.basis).replay_token = stored.token;
  d.check.equal(d.commit(commit).outcome, CommitOutcome::committed, "that token");
}

void a_history_is_read_after_the_event_of_its_token(Driver& d) {
  const TurnCommit second = second_turn(d);
  TurnCommit third = d.turn(d.woken("a"));
  third.events = {raised(3, "y"), raised(4, "z")};
  d.must_commit(third);
  const std::vector<HistoryRequest> requests{
      after(2, second.token), after(4, third.token), after(2, {}), after(2, third.token),
      after(4, second.token), after(9, third.token), after(1, {})};
  const auto answers = d.store.read_histories(requests);
  if (answers.size() != requests.size()) d.stop("one answer per request");
  d.check.that(answers[0] && *answers[0] == third.events, "the events after that event");
  d.check.that(answers[1] && answers[1]->empty(), "no event after the last");
  d.check.that(answers[2] && *answers[2] == third.events, "without a token");
  for (const std::size_t i : {3u, 4u, 5u}) {
    d.check.that(!answers[i] && answers[i].error().code == ErrorCode::conflict,
                 "a conflict: request " + std::to_string(i));
  }
  d.check.that(answers[6] && answers[6]->size() == 3, "a conflict fails alone");
}

void a_token_of_an_unknown_history_is_a_conflict(Driver& d) {
  const TurnCommit stored = second_turn(d);
  std::vector<HistoryRequest> requests{after(2, stored.token), after(2, stored.token),
                                       after(2, stored.token)};
  requests[0].instance = "unknown";
  requests[1].execution = ExecutionId{2};
  const auto answers = d.store.read_histories(requests);
  if (answers.size() != requests.size()) d.stop("one answer per request");
  d.check.that(!answers[0] && answers[0].error().code == ErrorCode::conflict, "an unknown instance");
  d.check.that(!answers[1] && answers[1].error().code == ErrorCode::conflict, "an unknown execution");
  d.check.that(answers[2].has_value(), "the known one");
}

void each_execution_has_its_own_tokens(Driver& d) {
  const TurnCommit second = second_turn(d);
  TurnCommit end = d.continuing_turn(d.woken("a"));
  d.must_commit(end);
  TurnCommit first = d.next_execution(d.fetch_one());
  d.must_commit(first);
  d.check.equal(d.woken("a").replay_token, first.token, "of the next execution");
  const std::vector<HistoryRequest> requests{{"a", ExecutionId{2}, EventId{1}, first.token},
                                             {"a", ExecutionId{1}, EventId{1}, first.token},
                                             {"a", ExecutionId{1}, EventId{2}, second.token}};
  const auto answers = d.store.read_histories(requests);
  if (answers.size() != requests.size()) d.stop("one answer per request");
  d.check.that(answers[0] && answers[0]->empty(), "the current execution");
  d.check.that(!answers[1], "the same event of another execution");
  d.check.that(answers[2] && *answers[2] == end.events, "the earlier execution");
}

}  // namespace

std::span<const ConformanceCase> replay_token_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(a_fetch_returns_the_token_of_the_last_events),
      DURAMEN_CASE(a_fused_and_a_conditional_turn_leave_their_tokens),
      DURAMEN_CASE(a_conditional_commit_demands_the_token_it_names),
      DURAMEN_CASE(a_history_is_read_after_the_event_of_its_token),
      DURAMEN_CASE(a_token_of_an_unknown_history_is_a_conflict),
      DURAMEN_CASE(each_execution_has_its_own_tokens),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
