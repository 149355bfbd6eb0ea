// Pruning: old executions are deleted, the instance stays.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// A running instance in execution `count`; each execution begins a second after the one before.
void with_executions(Driver& d, const InstanceId& id, int count) {
  d.running(id);
  for (int i = 1; i < count; ++i) {
    d.advance(1s);
    d.continue_as_new(id);
  }
}

/// The numbers of the stored executions: "3 4".
std::string executions_left(Driver& d, const InstanceId& id) {
  std::string numbers;
  for (const auto& execution : d.executions(id)) {
    numbers += (numbers.empty() ? "" : " ") + std::to_string(execution.execution.value);
  }
  return numbers;
}

void executions_are_pruned_by_count_by_time_or_by_both(Driver& d) {
  // Executions 1, 2 and 3 ended two, one and zero seconds ago.
  with_executions(d, "a", 4);
  d.check.that(d.prune("a", {.keep_last = 3}) == PruneResult{.found = true, .executions = 1, .events = 2},
               "the oldest");
  d.check.equal(executions_left(d, "a"), "2 3 4", "the newest three");
  d.check.equal(d.prune("a", {.keep_last = 3}).executions, 0u, "again");
  d.check.equal(d.prune("a", {.keep_last = 1, .ended_before = d.now() - 1s}).executions, 0u,
                "both parts must allow it");
  d.check.equal(d.prune("a", {.keep_last = 3, .ended_before = d.now() + 1s}).executions, 0u, "each of them");
  d.check.equal(d.prune("a", {.ended_before = d.now()}).executions, 1u, "executions that ended before now");
  d.check.equal(executions_left(d, "a"), "3 4", "the one that ended now stays");
  const InstanceId id{"a"};
  d.check.that(!d.store.prune_executions({&id, 1}, {}).has_value(), "without options");
  d.check.equal(executions_left(d, "a"), "3 4", "nothing was pruned");
}

void the_current_execution_is_never_pruned(Driver& d) {
  with_executions(d, "a", 3);
  d.check.that(d.prune("a", {.keep_last = 0}) == PruneResult{.found = true, .executions = 2, .events = 4},
               "keep none");
  d.check.equal(executions_left(d, "a"), "3", "the current one");
  d.check.equal(d.prune("a", {.ended_before = d.now() + 1h}).executions, 0u, "by time");
  d.finish("a");
  d.check.equal(d.prune("a", {.keep_last = 0, .ended_before = d.now() + 1h}).executions, 0u, "after its end");
  d.check.equal(d.history("a", 3).size(), 2u, "its history");
  d.check.that(!d.prune("unknown", {.keep_last = 1}).found, "an unknown instance");
}

void one_call_prunes_many_instances_with_one_answer_each(Driver& d) {
  for (const char* id : {"a", "b", "c"}) with_executions(d, id, 4);
  const std::vector<InstanceId> ids{"a", "unknown", "b"};
  const auto results = d.get(d.store.prune_executions(ids, {.keep_last = 1}));
  if (results.size() != 3) d.stop("one answer per id");
  d.check.that(results[0].executions == 3 && !results[1].found && results[2].executions == 3, "the answers");
  d.check.that(executions_left(d, "a") == "4" && executions_left(d, "b") == "4", "the named ones");
  d.check.equal(executions_left(d, "c"), "1 2 3 4", "one that was not");
}

void a_running_instance_can_be_pruned(Driver& d) {
  with_executions(d, "a", 3);
  d.check.equal(d.prune("a", {.keep_last = 1}).executions, 2u, "executions");
  d.check.equal(executions_left(d, "a"), "3", "executions left");
  d.check.equal(d.info("a").value().status, Status::running, "status");
  d.must_commit(d.turn(d.woken("a")));
  d.continue_as_new("a");
  d.check.equal(executions_left(d, "a"), "3 4", "it continues");
}

void pruning_deletes_only_the_pruned_history(Driver& d) {
  with_executions(d, "a", 3);
  d.prune("a", {.keep_last = 2});
  d.check.that(d.history("a", 1).empty(), "the pruned one");
  d.check.equal(d.history("a", 2).size(), 2u, "the one that was kept");
  d.check.equal(d.history("a", 3).size(), 1u, "the current one");
  const StoreMetrics counted = d.metrics();
  d.check.that(counted.executions == 2 && counted.events == 3, "as counted");
}

void an_execution_stays_until_the_next_one_has_begun(Driver& d) {
  with_executions(d, "a", 2);
  d.must_commit(d.continuing_turn(d.woken("a")));
  d.advance(1s);
  d.check.equal(d.prune("a", {.keep_last = 1, .ended_before = d.now()}).executions, 1u, "executions");
  d.check.equal(executions_left(d, "a"), "2", "executions left");
  d.must_commit(d.next_execution(d.fetch_one()));
  d.check.equal(executions_left(d, "a"), "2 3", "it continues");
}

void pruning_keeps_leases_and_messages(Driver& d) {
  with_executions(d, "a", 3);
  const LeasedInstance item = d.woken("a");
  d.send("a", raise("x"));
  d.prune("a", {.keep_last = 1});
  TurnCommit commit = d.turn(item);
  commit.events = {raised(2, "wake")};
  d.must_commit(commit);
  d.check.equal(names_of(d.fetch_one().messages), "x", "messages");
}

}  // namespace

std::span<const ConformanceCase> pruning_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(executions_are_pruned_by_count_by_time_or_by_both,
                   .reference = "test_prune_options_combinations",
                   .difference = "`ended_before` is exercised; no options at all are an error, because "
                                 "\"everything\" must be requested"),
      DURAMEN_CASE(the_current_execution_is_never_pruned, .reference = "test_prune_safety",
                   .difference = "an unknown instance is `found = false`, not an error"),
      DURAMEN_CASE(one_call_prunes_many_instances_with_one_answer_each, .reference = "test_prune_bulk",
                   .difference = "a list of ids in one call; a filter selects them before"),
      DURAMEN_CASE(a_running_instance_can_be_pruned,
                   .reference = "test_prune_bulk_includes_running_instances",
                   .difference = "a list of ids in one call; a filter selects them before"),
      DURAMEN_CASE(pruning_deletes_only_the_pruned_history),
      DURAMEN_CASE(an_execution_stays_until_the_next_one_has_begun),
      DURAMEN_CASE(pruning_keeps_leases_and_messages),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
