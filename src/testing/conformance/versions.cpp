// Versions: an instance runs only on nodes that support its engine version and its code version.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// A running instance pinned to this engine version, with a message waiting.
void pinned_and_woken(Driver& d, const InstanceId& id, std::uint32_t version) {
  d.start(id);
  TurnCommit first = d.turn(d.fetch_one());
  first.events = {started()};
  first.change.engine_version = version;
  first.messages = {{id, raise("x")}};
  d.must_commit(first);
}

std::vector<LeasedInstance> fetch_engines(Driver& d, std::uint32_t min, std::uint32_t max) {
  return d.fetch_batch({.min_engine_version = min, .max_engine_version = max}).items;
}

void without_a_filter_any_engine_version_is_fetched(Driver& d) {
  pinned_and_woken(d, "a", 1);
  d.check.equal(d.fetch_one().instance, InstanceId{"a"}, "instance");
}

void an_instance_of_a_supported_engine_version_is_fetched(Driver& d) {
  pinned_and_woken(d, "a", 12);
  d.check.equal(fetch_engines(d, 10, 19).size(), 1u, "instances");
}

void an_instance_of_an_unsupported_engine_version_is_skipped(Driver& d) {
  pinned_and_woken(d, "a", 12);
  d.check.equal(fetch_engines(d, 20, 29).size(), 0u, "instances");
}

void a_skipped_instance_is_not_leased(Driver& d) {
  pinned_and_woken(d, "a", 1);
  d.check.equal(fetch_engines(d, 2, 2).size(), 0u, "skipped");
  const auto items = fetch_engines(d, 0, 1);
  d.check.that(items.size() == 1 && items[0].attempt == 1, "then taken, for the first time");
}

void a_commit_stores_its_engine_version(Driver& d) {
  pinned_and_woken(d, "a", 31);
  d.check.equal(fetch_engines(d, 30, 30).size(), 0u, "another");
  d.check.equal(fetch_engines(d, 31, 31).size(), 1u, "that one");
}

void turns_of_the_same_engine_keep_the_pinned_version(Driver& d) {
  pinned_and_woken(d, "a", 1);
  for (int i = 0; i < 3; ++i) {
    TurnCommit commit = d.turn(d.fetch_one());
    commit.change.engine_version = 1;
    commit.messages = {{"a", raise("again")}};
    d.must_commit(commit);
  }
  d.check.equal(fetch_engines(d, 2, 9).size(), 0u, "another");
  d.check.equal(fetch_engines(d, 0, 1).size(), 1u, "that one");
}

void a_turn_of_a_newer_engine_pins_the_instance_to_it(Driver& d) {
  pinned_and_woken(d, "a", 1);
  TurnCommit commit = d.turn(d.fetch_one());
  commit.change.engine_version = 2;
  commit.messages = {{"a", raise("x")}};
  d.must_commit(commit);
  d.check.equal(fetch_engines(d, 1, 1).size(), 0u, "the old one");
  d.check.equal(fetch_engines(d, 2, 2).size(), 1u, "the new one");
}

void an_instance_is_unpinned_before_its_first_turn(Driver& d) {
  d.start("a");
  const auto pending = fetch_engines(d, 1, 77);
  if (pending.size() != 1) d.stop("an instance without a turn is not pinned");
  TurnCommit first = d.turn(pending[0]);
  first.events = {started()};
  first.change.engine_version = 12;
  first.messages = {{"a", raise("x")}};
  d.must_commit(first);
  d.check.equal(fetch_engines(d, 1, 11).size(), 0u, "another");
  d.check.equal(fetch_engines(d, 12, 12).size(), 1u, "that one");
}

void an_empty_engine_version_range_fetches_nothing(Driver& d) {
  pinned_and_woken(d, "a", 5);
  d.check.equal(fetch_engines(d, 6, 4).size(), 0u, "an empty range");
  d.check.equal(d.fetch_batch({.orchestrations = std::vector<RegisteredOrchestration>{}}).items.size(), 0u,
                "no code");
  d.check.equal(fetch_engines(d, 5, 5).size(), 1u, "and nothing was leased");
}

void a_filtered_fetch_respects_leases(Driver& d) {
  pinned_and_woken(d, "a", 1);
  d.check.equal(fetch_engines(d, 1, 1).size(), 1u, "first");
  d.check.equal(fetch_engines(d, 1, 1).size(), 0u, "second");
}

void a_resolved_version_must_be_registered(Driver& d) {
  d.running("a");  // version 1.0.0
  d.send("a", raise("x"));
  d.check.equal(d.count_fetched_with({{"Orch", {"2.0.0"}}}), 0u, "another version");
  d.check.equal(d.count_fetched_with({{"Orch", {"1.0.0 ", "1.0"}}}), 0u, "almost that version");
  d.check.equal(d.count_fetched_with({{"Other", {"1.0.0"}}}), 0u, "that version of another");
  d.check.equal(d.count_fetched_with({{"Orch", {"2.0.0", "1.0.0"}}}), 1u, "that version among others");
  d.check.equal(d.count_fetched_with({{"Other", {}}, {"Orch", {"1.0.0"}}}), 1u, "another name as well");
  d.check.equal(d.count_fetched_with({{"Orch", {}}}), 1u, "any version");
}

void a_pending_instance_is_fetched_by_name_alone(Driver& d) {
  d.start("a");
  d.check.equal(d.count_fetched_with({{"Other", {"1.0.0"}}}), 0u, "another name");
  d.check.equal(d.count_fetched_with({{"Orch", {"9.9.9"}}}), 1u, "its name");
}

void a_continued_instance_is_fetched_by_name_until_its_next_turn(Driver& d) {
  d.running("a");
  d.must_commit(d.continuing_turn(d.woken("a")));
  d.check.equal(d.count_fetched_with({{"Orch", {"2.0.0"}}}), 1u, "before its first turn");
  TurnCommit first = d.next_execution(d.fetch_one());
  first.change.version = "2.0.0";
  d.must_commit(first);
  d.send("a", raise("x"));
  d.check.equal(d.count_fetched_with({{"Orch", {"1.0.0"}}}), 0u, "the old version");
  d.check.equal(d.count_fetched_with({{"Orch", {"2.0.0"}}}), 1u, "the new version");
}

void a_version_that_is_asked_for_is_waited_for(Driver& d) {
  const StartRequest start{.instance = "a", .start = {.orchestration = "Orch", .version = "2.0.0"}};
  d.get(d.store.start_instances({&start, 1}));
  d.check.equal(d.count_fetched_with({{"Orch", {"1.0.0"}}}), 0u, "another version");
  d.check.equal(d.count_fetched_with({{"Other", {"2.0.0"}}}), 0u, "that version of another");
  d.check.equal(d.count_fetched_with({{"Orch", {"1.0.0", "2.0.0"}}}), 1u, "that version");
  d.check.equal(d.count_fetched_with({{"Orch", {}}}), 1u, "any version");
  TurnCommit first = d.turn(d.fetch_one());
  first.events = {started()};
  first.change.version = "2.0.0";
  d.must_commit(first);
  TurnCommit end = d.continuing_turn(d.woken("a"));
  end.messages = {{"a", message::ContinueAsNew{.orchestration = "Orch", .version = "3.0.0"}}};
  d.must_commit(end);
  d.check.equal(d.count_fetched_with({{"Orch", {"2.0.0"}}}), 0u, "the version of the last execution");
  d.check.equal(d.count_fetched_with({{"Orch", {"3.0.0"}}}), 1u, "the version of the next execution");
}

void a_first_turn_that_continues_as_new_may_ask_for_another_version(Driver& d) {
  TurnCommit only = d.fused("a");
  std::get<FusedStart>(only.basis).request.start.version = "1.0.0";
  only.events.push_back(make_event(2, event::OrchestrationContinuedAsNew{}));
  only.change.status = Status::continued_as_new;
  only.cancel_rest = CancelReason::orchestration_terminal_continued_as_new;
  only.messages = {{"a", message::ContinueAsNew{.orchestration = "Orch", .version = "3.0.0"}}};
  d.must_commit(only);
  d.check.equal(d.count_fetched_with({{"Orch", {"1.0.0"}}}), 0u, "the version of the start");
  d.check.equal(d.count_fetched_with({{"Orch", {"3.0.0"}}}), 1u, "the version of the next execution");
}

void a_child_waits_for_its_version(Driver& d) {
  d.running("p");
  TurnCommit commit = d.turn(d.woken("p"));
  commit.messages = {{"c", message::StartOrchestration{.orchestration = "Orch", .version = "2.0.0"}}};
  d.must_commit(commit);
  d.check.equal(d.count_fetched_with({{"Orch", {"1.0.0"}}}), 0u, "another version");
  d.check.equal(d.count_fetched_with({{"Orch", {"2.0.0"}}}), 1u, "that version");
}

void instances_of_unregistered_versions_do_not_block_the_queue(Driver& d) {
  for (int i = 0; i < 20; ++i) {
    const InstanceId id = "old" + std::to_string(i);
    d.running(id);
    d.send(id, raise("x"));
    (void)d.fetch_one();
  }
  d.advance(d.lease);  // twenty second attempts
  d.start("new", "Orch");
  TurnCommit first = d.turn(d.fetch_batch({.orchestrations = {{{"Orch", {"2"}}}}}).items.at(0));
  first.events = {started()};
  first.change.version = "2";
  first.messages = {{"new", raise("x")}};
  d.must_commit(first);
  const auto items = d.fetch_batch({.limit = 1, .orchestrations = {{{"Orch", {"2"}}}}}).items;
  d.check.that(items.size() == 1 && items[0].instance == InstanceId{"new"}, "the one behind twenty others");
}

}  // namespace

std::span<const ConformanceCase> version_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(without_a_filter_any_engine_version_is_fetched,
                   .reference = "test_fetch_with_filter_none_returns_any_item"),
      DURAMEN_CASE(an_instance_of_a_supported_engine_version_is_fetched,
                   .reference = "test_fetch_with_compatible_filter_returns_item"),
      DURAMEN_CASE(an_instance_of_an_unsupported_engine_version_is_skipped,
                   .reference = "test_fetch_with_incompatible_filter_skips_item"),
      DURAMEN_CASE(a_skipped_instance_is_not_leased,
                   .reference = "test_fetch_filter_does_not_lock_skipped_instances"),
      DURAMEN_CASE(a_commit_stores_its_engine_version,
                   .reference = "test_pinned_version_stored_via_ack_metadata"),
      DURAMEN_CASE(turns_of_the_same_engine_keep_the_pinned_version,
                   .reference = "test_pinned_version_immutable_across_ack_cycles",
                   .difference = "every turn names its engine version"),
      DURAMEN_CASE(a_turn_of_a_newer_engine_pins_the_instance_to_it,
                   .reference = "test_provider_updates_pinned_version_when_told"),
      DURAMEN_CASE(an_instance_is_unpinned_before_its_first_turn,
                   .reference = "test_ack_stores_pinned_version_via_metadata_update",
                   .difference = "the first turn pins, so there is nothing to add later"),
      DURAMEN_CASE(an_empty_engine_version_range_fetches_nothing,
                   .reference = "test_filter_with_empty_supported_versions_returns_nothing",
                   .difference = "an empty range, and no registered code at all"),
      DURAMEN_CASE(a_filtered_fetch_respects_leases,
                   .reference = "test_concurrent_filtered_fetch_no_double_lock"),
      DURAMEN_CASE(a_resolved_version_must_be_registered),
      DURAMEN_CASE(a_pending_instance_is_fetched_by_name_alone),
      DURAMEN_CASE(a_continued_instance_is_fetched_by_name_until_its_next_turn),
      DURAMEN_CASE(a_version_that_is_asked_for_is_waited_for),
      DURAMEN_CASE(a_first_turn_that_continues_as_new_may_ask_for_another_version),
      DURAMEN_CASE(a_child_waits_for_its_version),
      DURAMEN_CASE(instances_of_unregistered_versions_do_not_block_the_queue),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
