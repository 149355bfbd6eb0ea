// Pruning: old executions go, the instance stays.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// A running instance in its nth execution, one second after the other.
void with_executions(Driver& d, const InstanceId& id, int count) {
  d.running(id);
  for (int i = 1; i < count; ++i) {
    d.advance(1s);
    d.continue_as_new(id);
  }
}

/// Their numbers: "3 4".
std::string left(Driver& d, const InstanceId& id) {
  std::string numbers;
  for (const auto& execution : d.executions(id)) {
    numbers += (numbers.empty() ? "" : " ") + std::to_string(execution.execution.value);
  }
  return numbers;
}

void test_prune_options_combinations(Driver& d) {
  with_executions(d, "a", 4);  // 1, 2 and 3 ended two, one and no seconds ago
  d.check.that(d.prune("a", {.keep_last = 3}) == PruneResult{.found = true, .executions = 1, .events = 2},
               "the oldest");
  d.check.equal(left(d, "a"), "2 3 4", "the newest three");
  d.check.equal(d.prune("a", {.keep_last = 3}).executions, 0u, "again");
  d.check.equal(d.prune("a", {.keep_last = 1, .ended_before = d.now() - 1s}).executions, 0u,
                "both parts must allow it");
  d.check.equal(d.prune("a", {.keep_last = 3, .ended_before = d.now() + 1s}).executions, 0u, "each of them");
  d.check.equal(d.prune("a", {.ended_before = d.now()}).executions, 1u, "what ended before now");
  d.check.equal(left(d, "a"), "3 4", "what ended now");
  const InstanceId id{"a"};
  d.check.that(!d.store.prune_executions({&id, 1}, {}).has_value(), "without options");
  d.check.equal(left(d, "a"), "3 4", "nothing went");
}

void test_prune_safety(Driver& d) {
  with_executions(d, "a", 3);
  d.check.that(d.prune("a", {.keep_last = 0}) == PruneResult{.found = true, .executions = 2, .events = 4},
               "keep none");
  d.check.equal(left(d, "a"), "3", "the current one");
  d.check.equal(d.prune("a", {.ended_before = d.now() + 1h}).executions, 0u, "by time");
  d.finish("a");
  d.check.equal(d.prune("a", {.keep_last = 0, .ended_before = d.now() + 1h}).executions, 0u, "after its end");
  d.check.equal(d.history("a", 3).size(), 2u, "its history");
  d.check.that(!d.prune("nobody", {.keep_last = 1}).found, "an unknown instance");
}

void test_prune_bulk(Driver& d) {
  for (const char* id : {"a", "b", "c"}) with_executions(d, id, 4);
  const std::vector<InstanceId> ids{"a", "nobody", "b"};
  const auto results = d.get(d.store.prune_executions(ids, {.keep_last = 1}));
  if (results.size() != 3) d.stop("one answer per id");
  d.check.that(results[0].executions == 3 && !results[1].found && results[2].executions == 3, "the answers");
  d.check.that(left(d, "a") == "4" && left(d, "b") == "4", "those that were named");
  d.check.equal(left(d, "c"), "1 2 3 4", "one that was not");
}

void test_prune_bulk_includes_running_instances(Driver& d) {
  with_executions(d, "a", 3);
  d.check.equal(d.prune("a", {.keep_last = 1}).executions, 2u, "executions");
  d.check.equal(left(d, "a"), "3", "what is left");
  d.check.equal(d.info("a").value().status, Status::running, "status");
  d.must_commit(d.turn(d.woken("a")));
  d.continue_as_new("a");
  d.check.equal(left(d, "a"), "3 4", "it goes on");
}

void a_pruned_history_is_gone(Driver& d) {
  with_executions(d, "a", 3);
  d.prune("a", {.keep_last = 2});
  d.check.that(d.history("a", 1).empty(), "the pruned one");
  d.check.equal(d.history("a", 2).size(), 2u, "the one that was kept");
  d.check.equal(d.history("a", 3).size(), 1u, "the current one");
  const StoreMetrics counted = d.metrics();
  d.check.that(counted.executions == 2 && counted.events == 3, "as counted");
}

void an_execution_that_is_about_to_be_followed_stays(Driver& d) {
  with_executions(d, "a", 2);
  d.must_commit(d.continuing_turn(d.woken("a")));
  d.advance(1s);
  d.check.equal(d.prune("a", {.keep_last = 1, .ended_before = d.now()}).executions, 1u, "executions");
  d.check.equal(left(d, "a"), "2", "what is left");
  d.must_commit(d.next_execution(d.fetch_one()));
  d.check.equal(left(d, "a"), "2 3", "it goes on");
}

void pruning_disturbs_no_turn(Driver& d) {
  with_executions(d, "a", 3);
  const LeasedInstance item = d.woken("a");
  d.send("a", raise("x"));
  d.prune("a", {.keep_last = 1});
  TurnCommit commit = d.turn(item);
  commit.events = {raised(2, "wake")};
  d.must_commit(commit);
  d.check.equal(names_of(d.fetch_one().messages), "x", "messages");
}

constexpr ConformanceCase cases[] = {
    {"test_prune_options_combinations", "By number, by time, or by both; no options are refused.",
     told<test_prune_options_combinations>},
    {"test_prune_safety", "The current execution always stays.", told<test_prune_safety>},
    {"test_prune_bulk", "Many instances in one call, each answered for itself.", told<test_prune_bulk>},
    {"test_prune_bulk_includes_running_instances", "An instance that goes on can be pruned.",
     told<test_prune_bulk_includes_running_instances>},
    {"a_pruned_history_is_gone", "And only that.", told<a_pruned_history_is_gone>},
    {"an_execution_that_is_about_to_be_followed_stays", "Until the next one has begun it is the current one.",
     told<an_execution_that_is_about_to_be_followed_stays>},
    {"pruning_disturbs_no_turn", "Leases and messages are not touched.", told<pruning_disturbs_no_turn>},
};

}  // namespace

std::span<const ConformanceCase> pruning_cases() { return cases; }

}  // namespace duramen::inline v0::testing
