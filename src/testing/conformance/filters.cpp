// Filters by name and engine version: a node fetches only what it can run and leaves the rest to others.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

void only_instances_of_registered_names_are_fetched(Driver& d) {
  d.start("x", "X");
  d.start("y", "Y");
  using Names = std::vector<RegisteredOrchestration>;
  d.check.equal(d.fetch_batch({.orchestrations = Names{}}).items.size(), 0u, "no name");
  d.check.equal(d.fetch_batch({.orchestrations = Names{{"Z"}, {"x"}}}).items.size(), 0u, "other names");
  const auto items = d.fetch_batch({.orchestrations = Names{{"Z"}, {"Y"}}}).items;
  d.check.that(items.size() == 1 && items[0].instance == InstanceId{"y"}, "one of them");
  d.check.equal(d.fetch_one().instance, InstanceId{"x"}, "a skipped one is not leased");
}

void a_skipped_instance_does_not_count_against_the_limit(Driver& d) {
  for (int i = 0; i < 20; ++i) d.start("x" + std::to_string(i), "X");
  d.advance(1ms);
  d.start("y", "Y");
  const auto items = d.fetch_batch({.limit = 1, .orchestrations = {{{"Y"}}}}).items;
  d.check.that(items.size() == 1 && items[0].instance == InstanceId{"y"}, "the one behind twenty others");
}

void only_activities_of_registered_names_are_fetched(Driver& d) {
  const InstanceInfo info = d.running("a");
  TurnCommit commit = d.turn(d.woken("a"));
  commit.events = {scheduled(2), scheduled(3)};
  commit.new_activities = {Driver::activity(info, 2), Driver::activity(info, 3)};
  commit.new_activities[1].request.name = "Other";
  d.must_commit(commit);
  using Names = std::vector<std::string>;
  d.check.equal(d.fetch_activity_batch({.names = Names{}}).items.size(), 0u, "no name");
  const auto items = d.fetch_activity_batch({.limit = 1, .names = Names{"Other", "Z"}}).items;
  d.check.that(items.size() == 1 && items[0].request.name == "Other", "one of them");
  d.check.equal(d.fetch_one_activity().request.name, "Act", "a skipped one is not leased");
}

/// Runs the first turn of a new instance under this engine version.
void pin_engine(Driver& d, const InstanceId& id, std::uint32_t version) {
  d.start(id);
  TurnCommit first = d.turn(d.fetch_one());
  first.events = {started()};
  first.change.engine_version = version;
  d.must_commit(first);
}

void both_ends_of_the_engine_version_range_are_inclusive(Driver& d) {
  pin_engine(d, "a", 5);
  d.send("a", raise("x"));
  const auto fetched = [&](std::uint32_t min, std::uint32_t max) {
    const auto items = d.fetch_batch({.min_engine_version = min, .max_engine_version = max}).items;
    for (const auto& item : items) d.release(item, {}, false);
    return items.size();
  };
  d.check.equal(fetched(0, 4), 0u, "below");
  d.check.equal(fetched(6, 9), 0u, "above");
  d.check.equal(fetched(5, 9), 1u, "the lower end is inclusive");
  d.check.equal(fetched(0, 5), 1u, "the upper end is inclusive");
}

void an_incompatible_instance_does_not_block_a_compatible_one(Driver& d) {
  pin_engine(d, "old", 1);
  pin_engine(d, "new", 2);
  d.send("old", raise("x"));
  d.advance(1ms);
  d.send("new", raise("x"));
  const auto items = d.fetch_batch({.limit = 1, .min_engine_version = 2, .max_engine_version = 2}).items;
  d.check.that(items.size() == 1 && items[0].instance == InstanceId{"new"}, "the compatible one");
  const auto rest = d.fetch_batch({.min_engine_version = 0, .max_engine_version = 1}).items;
  d.check.that(rest.size() == 1 && rest[0].instance == InstanceId{"old"}, "the other one was not leased");
}

void an_instance_without_a_turn_needs_the_first_engine_version(Driver& d) {
  d.start("a");
  d.check.equal(d.fetch_batch({.min_engine_version = 2, .max_engine_version = 99}).items.size(), 0u,
                "a node that cannot read the first version");
  d.check.equal(d.fetch_batch({.min_engine_version = 1, .max_engine_version = 99}).items.size(), 1u,
                "a node that can");
}

void each_execution_is_pinned_by_its_first_turn(Driver& d) {
  pin_engine(d, "a", 1);
  TurnCommit end = d.turn(d.woken("a"));
  end.events = {make_event(2, event::OrchestrationContinuedAsNew{})};
  end.change.status = Status::continued_as_new;
  end.change.engine_version = 1;
  end.messages = {{"a", message::ContinueAsNew{.orchestration = "Orch"}}};
  d.must_commit(end);
  const auto items = d.fetch_batch({.min_engine_version = 1, .max_engine_version = 2}).items;
  if (items.size() != 1) d.stop("an execution without a turn is not pinned");
  TurnCommit first = d.turn(items[0]);
  first.execution = ExecutionId{2};
  first.events = {started()};
  first.change.engine_version = 2;
  d.must_commit(first);
  d.send("a", raise("x"));
  d.check.equal(d.fetch_batch({.max_engine_version = 1}).items.size(), 0u, "the old version");
  d.check.equal(d.fetch_batch({.min_engine_version = 2, .max_engine_version = 2}).items.size(), 1u,
                "the new one");
}

}  // namespace

std::span<const ConformanceCase> filter_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(only_instances_of_registered_names_are_fetched),
      DURAMEN_CASE(a_skipped_instance_does_not_count_against_the_limit),
      DURAMEN_CASE(only_activities_of_registered_names_are_fetched),
      DURAMEN_CASE(both_ends_of_the_engine_version_range_are_inclusive,
                   .reference = "test_fetch_filter_boundary_versions",
                   .difference = "engine versions are plain integers; one store is enough"),
      DURAMEN_CASE(an_incompatible_instance_does_not_block_a_compatible_one,
                   .reference = "test_fetch_filter_skips_incompatible_selects_compatible"),
      DURAMEN_CASE(an_instance_without_a_turn_needs_the_first_engine_version,
                   .reference = "test_fetch_filter_null_pinned_version_always_compatible",
                   .difference = "a node must be able to read the first engine version"),
      DURAMEN_CASE(each_execution_is_pinned_by_its_first_turn,
                   .reference = "test_continue_as_new_execution_gets_own_pinned_version"),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
