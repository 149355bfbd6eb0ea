// The nodes that work on a store, and the write level.
#include "testing/conformance/driver.hpp"

#include <limits>

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

NodeRecord record(const NodeId& node, std::uint32_t reads_up_to = duramen::engine_version) {
  NodeRecord record;
  record.node = node;
  record.max_engine_version = reads_up_to;
  return record;
}

void write(Driver& d, const NodeRecord& record) {
  if (const auto written = d.store.write_node(record); !written) d.stop(written.error().describe());
}

std::vector<NodeRecord> nodes(Driver& d) {
  auto listed = d.store.list_nodes();
  if (!listed) d.stop(listed.error().describe());
  return *std::move(listed);
}

std::uint32_t write_level(Driver& d) {
  const auto level = d.store.get_write_level();
  if (!level) d.stop(level.error().describe());
  return *level;
}

WriteLevelRaise raise_level(Driver& d, std::uint32_t level, Duration live_within = 90s) {
  auto raised = d.store.raise_write_level(level, live_within);
  if (!raised) d.stop(raised.error().describe());
  return *std::move(raised);
}

void a_node_is_listed_as_it_described_itself(Driver& d) {
  d.check.equal(nodes(d).size(), 0u, "a new store");
  NodeRecord full;
  full.node = d.node;
  full.run = "run 'a'";
  full.host = "host \"a\"";
  full.pid = 4'000'000'000;
  full.version = "1.2.3";
  full.build = "0123abcd";
  full.min_engine_version = 3;
  full.max_engine_version = std::numeric_limits<std::uint32_t>::max();
  full.orchestrations = {{"A", {"1.0.0", "2.0.0"}}, {"B", {}}};
  full.activities = {"Charge", "Ship"};
  full.tags = TagFilter::default_and({"gpu", "eu"});
  full.capacity = 10;
  full.running = 9;
  full.resident = 8;
  full.abandoned = 7;
  full.started_at = from_unix_ms(1'700'000'000'123);
  write(d, full);
  full.seen_at = d.now();
  const auto listed = nodes(d);
  d.check.that(listed.size() == 1 && listed[0] == full, "the record, with the time of the report");
}

void a_node_id_is_a_name(Driver& d) {
  for (const std::string& id :
       {std::string{}, std::string(max_node_bytes + 1, 'n'), std::string("a\xFFz"), std::string("a\0z", 3)}) {
    const auto refused = d.store.write_node(record(NodeId{id}));
    if (!d.check.that(!refused, "an id of " + std::to_string(id.size()) + " bytes")) continue;
    const ErrorCode expected =
        id.size() > max_node_bytes ? ErrorCode::limit_exceeded : ErrorCode::invalid_argument;
    d.check.equal(refused.error().code, expected, "the error");
    d.check.that(!refused.error().retryable, "a repetition is useless");
  }
  d.check.equal(nodes(d).size(), 0u, "nothing is stored");
  write(d, record(NodeId{std::string(max_node_bytes, 'n')}));
  d.check.equal(nodes(d).size(), 1u, "the longest id");
}

void a_store_has_an_id(Driver& d) {
  const std::string_view id = d.store.store_id();
  d.check.that(id.size() >= 16 && id.size() <= 36, "16 to 36 characters");
  d.check.equal(id.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"),
                std::string_view::npos, "letters, digits and hyphens");
  d.check.equal(d.store.store_id(), id, "it stays");
}

void a_report_replaces_the_one_before(Driver& d) {
  NodeRecord node = record(d.node);
  node.running = 1;
  write(d, node);
  d.advance(10s);
  node.running = 2;
  write(d, node);
  const auto listed = nodes(d);
  if (listed.size() != 1) d.stop("one node has one record");
  d.check.equal(listed[0].running, 2u, "the newer report");
  d.check.equal(listed[0].seen_at, d.now(), "the time of the newer report");
}

void nodes_are_listed_by_id(Driver& d) {
  for (const char* id : {"b", "c", "a"}) write(d, record(id));
  std::string ids;
  for (const NodeRecord& node : nodes(d)) ids += node.node.value;
  d.check.equal(ids, "abc", "the order");
}

void a_removed_node_is_not_listed(Driver& d) {
  write(d, record(d.node));
  write(d, record(d.other));
  d.check.that(d.store.remove_node(d.node, "").has_value(), "the removal");
  d.check.that(d.store.remove_node("unknown", "").has_value(), "an unknown node");
  const auto listed = nodes(d);
  d.check.that(listed.size() == 1 && listed[0].node == d.other, "the other one stays");
}

void a_node_that_ends_does_not_remove_its_successor(Driver& d) {
  NodeRecord first = record(d.node);
  first.run = "first";
  write(d, first);
  NodeRecord second = first;
  second.run = "second";
  write(d, second);
  d.check.that(d.store.remove_node(d.node, "first").has_value(), "the removal");
  const auto listed = nodes(d);
  d.check.that(listed.size() == 1 && listed[0].run == "second", "the successor stays");
  d.check.that(d.store.remove_node(d.node, "second").has_value(), "its own removal");
  d.check.equal(nodes(d).size(), 0u, "it is gone");
}

void a_silent_node_is_listed_but_not_live(Driver& d) {
  write(d, record(d.node));
  const TimePoint seen = d.now();
  d.advance(90s);
  const auto listed = nodes(d);
  if (listed.size() != 1) d.stop("a silent node is listed");
  d.check.equal(listed[0].seen_at, seen, "the time of its last report");
  d.check.that(!listed[0].is_live(d.now(), 90s), "silent for ninety seconds");
  d.check.that(listed[0].is_live(d.now(), 91s), "less than that");
}

void a_step_of_the_wall_clock_makes_no_node_dead(Driver& d) {
  write(d, record(d.node, 1));
  if (!d.jump_wall(1h)) return;
  auto listed = nodes(d);
  if (listed.size() != 1) d.stop("the node is listed");
  d.check.that(listed[0].is_live(d.now(), 90s), "an hour forward");
  d.check.that(!raise_level(d, 1'000).held_back_by.empty(), "it still holds the write level back");
  d.jump_wall(-2h);
  d.advance(90s);
  listed = nodes(d);
  d.check.that(listed.size() == 1 && !listed[0].is_live(d.now(), 90s), "silent, an hour back");
}

void a_node_that_was_silent_for_a_day_is_forgotten(Driver& d) {
  write(d, record("gone"));
  d.advance(24h - 1ms);
  write(d, record(d.node));
  d.check.equal(nodes(d).size(), 2u, "just before");
  d.advance(1ms);
  write(d, record(d.node));
  const auto listed = nodes(d);
  d.check.that(listed.size() == 1 && listed[0].node == d.node, "after a day");
}

void a_new_store_begins_at_the_newest_level(Driver& d) {
  d.check.equal(write_level(d), duramen::engine_version, "the write level of a new store");
}

void the_write_level_rises(Driver& d) {
  const std::uint32_t next = duramen::engine_version + 1;
  const WriteLevelRaise raised = raise_level(d, next);
  d.check.equal(raised.level, next, "the answer");
  d.check.equal(raised.held_back_by.size(), 0u, "no node holds it back");
  d.check.equal(write_level(d), next, "the stored level");
}

void the_write_level_never_falls(Driver& d) {
  const std::uint32_t next = duramen::engine_version + 1;
  raise_level(d, next);
  for (const std::uint32_t lower : {next - 1, next, 0u}) {
    const WriteLevelRaise raised = raise_level(d, lower);
    d.check.equal(raised.level, next, "the answer");
    d.check.equal(write_level(d), next, "the stored level");
  }
}

void a_live_node_that_reads_less_holds_the_write_level_back(Driver& d) {
  const std::uint32_t level = write_level(d);
  write(d, record("b", level));
  write(d, record("a", level));
  write(d, record("c", level + 1));
  d.advance(90s - 1ms);
  const WriteLevelRaise refused = raise_level(d, level + 1, 90s);
  d.check.that(refused.held_back_by == std::vector<NodeId>{"a", "b"}, "the nodes, by id");
  d.check.equal(refused.level, level, "the level is left as it was");
  d.check.equal(write_level(d), level, "the stored level");
}

void a_node_that_is_gone_does_not_hold_the_write_level_back(Driver& d) {
  const std::uint32_t level = write_level(d);
  write(d, record("killed", level));
  write(d, record("stopped", level));
  std::ignore = d.store.remove_node("stopped", "");
  d.advance(90s);
  const WriteLevelRaise raised = raise_level(d, level + 1, 90s);
  d.check.equal(raised.held_back_by.size(), 0u, "neither of the two");
  d.check.equal(write_level(d), level + 1, "the level is raised");
}

}  // namespace

std::span<const ConformanceCase> node_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(a_node_is_listed_as_it_described_itself),
      DURAMEN_CASE(a_node_id_is_a_name),
      DURAMEN_CASE(a_report_replaces_the_one_before),
      DURAMEN_CASE(nodes_are_listed_by_id),
      DURAMEN_CASE(a_removed_node_is_not_listed),
      DURAMEN_CASE(a_node_that_ends_does_not_remove_its_successor),
      DURAMEN_CASE(a_silent_node_is_listed_but_not_live),
      DURAMEN_CASE(a_step_of_the_wall_clock_makes_no_node_dead),
      DURAMEN_CASE(a_node_that_was_silent_for_a_day_is_forgotten),
      DURAMEN_CASE(a_store_has_an_id),
      DURAMEN_CASE(a_new_store_begins_at_the_newest_level),
      DURAMEN_CASE(the_write_level_rises),
      DURAMEN_CASE(the_write_level_never_falls),
      DURAMEN_CASE(a_live_node_that_reads_less_holds_the_write_level_back),
      DURAMEN_CASE(a_node_that_is_gone_does_not_hold_the_write_level_back),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
