// Key-values: the values that readers see, the values that replay begins with, and their lifetime.
#include <duramen/key_values.hpp>

#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

constexpr TimePoint set_at = from_unix_ms(1'750'000'000'123);

KeyValueChange set_key(std::string key, std::string value) {
  return {std::move(key), Payload::text(std::move(value)), set_at};
}
KeyValueChange clear_key(std::string key) { return {std::move(key), std::nullopt, set_at}; }
KeyValueChange clear_all_keys() { return {std::nullopt, std::nullopt, set_at}; }

/// "a=1 b=2"
std::string text_of(const KeyValues& values) {
  std::string text;
  for (const auto& [key, entry] : values) {
    text += (text.empty() ? "" : " ") + key + "=" + entry.value.data;
  }
  return text;
}

TurnCommit changing(TurnCommit commit, std::vector<KeyValueChange> changes) {
  commit.change.key_values = std::move(changes);
  return commit;
}

void key_value_changes_of_a_turn_apply_in_order(Driver& d) {
  d.running("a");
  d.must_commit(changing(d.turn(d.woken("a")), {clear_key("x"), clear_all_keys(), set_key("x", "1"),
                                                set_key("y", "1"), clear_key("x"), set_key("z", "1")}));
  d.check.equal(text_of(d.key_values("a")), "y=1 z=1", "set and cleared");
  d.must_commit(changing(d.turn(d.woken("a")),
                         {set_key("y", "2"), set_key("y", "3"), clear_key("z"), set_key("z", "4")}));
  d.check.equal(text_of(d.key_values("a")), "y=3 z=4", "the last change of a key counts");
  d.must_commit(changing(d.turn(d.woken("a")),
                         {set_key("w", "1"), clear_all_keys(), set_key("v", "1"), set_key("y", "5")}));
  d.check.equal(text_of(d.key_values("a")), "v=1 y=5", "values set after a clear-all stay");
  d.must_commit(changing(d.turn(d.woken("a")), {clear_all_keys()}));
  d.check.equal(text_of(d.key_values("a")), "", "nothing is left");
}

void key_values_belong_to_one_instance(Driver& d) {
  d.check.that(d.key_values("unknown").empty(), "an unknown instance has none");
  d.running("a");
  d.running("b");
  d.check.that(d.key_values("a").empty(), "an instance begins with none");
  d.must_commit(changing(d.turn(d.woken("a")), {set_key("x", "a")}));
  d.must_commit(changing(d.turn(d.woken("b")), {set_key("x", "b"), set_key("y", "b")}));
  d.must_commit(changing(d.turn(d.woken("b")), {clear_all_keys()}));
  d.check.equal(text_of(d.key_values("a")), "x=a", "of the one");
  d.check.equal(text_of(d.key_values("b")), "", "of the other");
}

void other_turns_keep_key_values(Driver& d) {
  d.running("a");
  d.must_commit(changing(d.turn(d.woken("a")), {set_key("x", "1")}));
  for (int i = 0; i < 3; ++i) d.must_commit(d.turn(d.woken("a")));
  d.check.equal(text_of(d.key_values("a")), "x=1", "key-values");
}

void an_execution_begins_with_the_key_values_of_earlier_ones(Driver& d) {
  const auto fetched = [&](const LeasedInstance& item, std::string_view expected) {
    d.check.equal(text_of(item.key_values), expected, "as earlier executions left them");
    return item;
  };
  const auto values_now = [&](std::string_view expected) {
    d.check.equal(text_of(d.key_values("a")), expected, "as they are now");
  };
  d.running("a");
  d.must_commit(changing(d.turn(fetched(d.woken("a"), "")), {set_key("x", "1"), set_key("y", "1")}));
  values_now("x=1 y=1");
  d.must_commit(
      changing(d.continuing_turn(fetched(d.woken("a"), "")), {set_key("y", "2"), set_key("z", "1")}));
  values_now("x=1 y=2 z=1");

  d.must_commit(
      changing(d.next_execution(fetched(d.fetch_one(), "x=1 y=2 z=1")), {clear_key("x"), set_key("y", "3")}));
  values_now("y=3 z=1");
  d.must_commit(changing(d.turn(fetched(d.woken("a"), "x=1 y=2 z=1")), {set_key("w", "1"), clear_key("w")}));
  values_now("y=3 z=1");
  d.must_commit(changing(d.turn(fetched(d.woken("a"), "x=1 y=2 z=1")), {set_key("x", "4"), clear_key("z")}));
  values_now("x=4 y=3");
  d.must_commit(d.continuing_turn(fetched(d.woken("a"), "x=1 y=2 z=1")));
  values_now("x=4 y=3");

  d.must_commit(changing(d.next_execution(fetched(d.fetch_one(), "x=4 y=3")), {clear_all_keys()}));
  values_now("");
  d.must_commit(changing(d.turn(fetched(d.woken("a"), "x=4 y=3")), {set_key("y", "5")}));
  values_now("y=5");
  d.must_commit(changing(d.continuing_turn(fetched(d.woken("a"), "x=4 y=3")), {clear_all_keys()}));
  values_now("");
  d.must_commit(d.next_execution(fetched(d.fetch_one(), "")));
  values_now("");
}

void a_repeated_fetch_shows_the_same_key_values(Driver& d) {
  d.running("a");
  d.must_commit(changing(d.continuing_turn(d.woken("a")), {set_key("x", "1")}));
  const LeasedInstance item = d.fetch_one();
  d.advance(d.lease + 1ms);
  const LeasedInstance again = d.fetch_one();
  d.check.that(item.key_values == again.key_values, "after a lease that ended");
  d.release(again);
  d.check.equal(text_of(d.fetch_one().key_values), "x=1", "after a release");
}

void a_refused_turn_changes_no_key_values(Driver& d) {
  d.running("a");
  const TurnCommit good = changing(d.turn(d.woken("a")), {set_key("x", "1")});
  TurnCommit invalid = changing(good, {set_key("x", "invalid"), set_key("y", "invalid")});
  invalid.token = d.new_commit_token();
  invalid.events = {raised(7, "x")};
  d.check.equal(d.commit(invalid).outcome, CommitOutcome::invalid, "a turn with wrong ids");
  d.check.equal(text_of(d.key_values("a")), "", "key-values");
  d.must_commit(good);
  d.must_commit(changing(d.turn(d.woken("a")), {set_key("x", "2")}));

  const LeasedInstance item = d.woken("a");
  d.advance(d.lease + 1ms);
  const TurnCommit late = changing(d.continuing_turn(item), {clear_all_keys()});
  d.check.equal(d.commit(late).outcome, CommitOutcome::lease_lost, "a turn that is late");
  const TurnCommit wrong = changing(d.conditional(d.info("a").value(), EventId{9}), {clear_key("x")});
  d.check.equal(d.commit(wrong).outcome, CommitOutcome::condition_failed, "a turn with a wrong condition");
  d.check.equal(text_of(d.key_values("a")), "x=2", "key-values");
  d.check.equal(text_of(d.fetch_one().key_values), "", "as earlier executions left them");
}

void every_kind_of_turn_may_change_key_values(Driver& d) {
  d.must_commit(changing(d.fused("a"), {set_key("x", "1"), set_key("y", "1")}));
  d.check.equal(text_of(d.key_values("a")), "x=1 y=1", "after a fused start");
  const InstanceInfo info = d.info("a").value();
  d.must_commit(changing(d.conditional(info, EventId{1}), {clear_key("x"), set_key("z", "1")}));
  d.check.equal(text_of(d.key_values("a")), "y=1 z=1", "after a conditional turn");
  d.must_commit(changing(d.final_turn(d.woken("a")), {set_key("y", "2")}));
  d.check.equal(text_of(d.key_values("a")), "y=2 z=1", "after a final turn");

  TurnCommit only = changing(d.fused("b"), {set_key("x", "1")});
  only.change.status = Status::continued_as_new;
  only.messages = {{"b", message::ContinueAsNew{.orchestration = "Orch"}}};
  d.must_commit(only);
  d.check.equal(text_of(d.fetch_one().key_values), "x=1", "for the execution after a fused start");
}

void key_values_survive_the_end_of_their_instance(Driver& d) {
  for (const Status end : {Status::completed, Status::failed, Status::cancelled}) {
    const InstanceId id{std::string(to_string(end))};
    d.running(id);
    d.must_commit(changing(d.turn(d.woken(id)), {set_key("x", "1"), set_key("y", "1")}));
    TurnCommit last = changing(d.final_turn(d.woken(id)), {clear_key("y"), set_key("z", "1")});
    last.change.status = end;
    d.must_commit(last);
    d.check.equal(text_of(d.key_values(id)), "x=1 z=1", to_string(end));
  }
}

void key_values_are_deleted_with_a_replaced_instance(Driver& d) {
  d.running("a");
  d.must_commit(changing(d.continuing_turn(d.woken("a")), {set_key("x", "1")}));
  d.must_commit(changing(d.next_execution(d.fetch_one()), {set_key("y", "1")}));
  d.must_commit(d.final_turn(d.woken("a")));
  d.check.equal(d.start("a", "Orch", "in", IdReuse::replace_when_final), StartOutcome::created, "start");
  d.check.equal(text_of(d.key_values("a")), "", "after a start");
  const LeasedInstance item = d.fetch_one();
  d.check.equal(text_of(item.key_values), "", "for its first turn");

  d.must_commit(changing(d.final_turn(item), {set_key("z", "1")}));
  d.must_commit(changing(d.fused("a", "Orch", "in", IdReuse::replace_when_final), {set_key("w", "1")}));
  d.check.equal(text_of(d.key_values("a")), "w=1", "after a fused start");
  d.check.equal(text_of(d.woken("a").key_values), "", "for its second turn");
}

void key_values_keep_text_encoding_and_time(Driver& d) {
  const std::string odd = "'\"\\\n\t\x01 \xF0\x9F\x8C\xB3";
  const KeyValues expected{
      {"empty text", {Payload::text(""), set_at}},
      {"empty json", {Payload::json(""), set_at}},
      {"text", {Payload::text("null"), set_at + 1ms}},
      {"json", {Payload::json("null"), set_at + 2ms}},
      {"case", {Payload::text("lower"), set_at}},
      {"Case", {Payload::text("upper"), set_at}},
      {odd, {Payload::text(odd), set_at}},
      {"long", {Payload::text(std::string(max_key_value_bytes, 'x')), set_at}},
  };
  TurnCommit commit = d.fused("a");
  for (const auto& [key, entry] : expected) {
    commit.change.key_values.push_back({key, entry.value, entry.updated_at});
  }
  d.must_commit(commit);
  d.check.that(d.key_values("a") == expected, "as they are now");
  d.must_commit(d.continuing_turn(d.woken("a")));
  d.check.that(d.key_values("a") == expected, "over continue-as-new");
  const LeasedInstance item = d.fetch_one();
  d.check.that(item.key_values == expected, "for the next execution");

  // The same text with another encoding or another time is another value.
  KeyValues changed = expected;
  changed["text"] = {Payload::json("null"), set_at + 1ms};
  changed["json"] = {Payload::json("null"), set_at + 3ms};
  TurnCommit next = d.next_execution(item);
  for (const char* key : {"text", "json"}) {
    next.change.key_values.push_back({key, changed[key].value, changed[key].updated_at});
  }
  d.must_commit(next);
  d.must_commit(d.continuing_turn(d.woken("a")));
  d.check.that(d.key_values("a") == changed, "changed");
  d.check.that(d.fetch_one().key_values == changed, "changed, for the next execution");
}

std::string values_now(Driver& d, const InstanceId& id = "a") { return text_of(d.key_values(id)); }

/// A turn of the running instance that makes these changes.
void change_keys(Driver& d, const InstanceId& id, std::vector<KeyValueChange> changes) {
  d.must_commit(changing(d.turn(d.woken(id)), std::move(changes)));
}
/// The values that the next turn begins with.
std::string next_snapshot(Driver& d, const InstanceId& id = "a") {
  const LeasedInstance item = d.woken(id);
  d.must_commit(d.turn(item));
  return text_of(item.key_values);
}

void a_key_value_that_was_set_can_be_read(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("counter", "42")});
  d.check.equal(values_now(d), "counter=42", "now");
}

void a_second_set_overwrites_a_key_value(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("status", "old")});
  change_keys(d, "a", {set_key("status", "new")});
  d.check.equal(values_now(d), "status=new", "now");
}

void clearing_one_key_keeps_the_others(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("k", "1"), set_key("other", "1")});
  change_keys(d, "a", {clear_key("k")});
  d.check.equal(values_now(d), "other=1", "now");
}

void clear_all_clears_every_key(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("a", "1"), set_key("b", "2")});
  change_keys(d, "a", {clear_all_keys()});
  d.check.equal(values_now(d), "", "now");
}

void a_new_instance_has_no_key_values(Driver& d) {
  d.running("a");
  d.check.equal(values_now(d), "", "now");
}

void the_next_execution_begins_with_the_last_key_values(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("x", "10"), set_key("y", "20")});
  d.continue_as_new("a");
  d.check.equal(next_snapshot(d), "x=10 y=20", "snapshot");
}

void a_cleared_key_is_not_carried_over(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("keep", "1"), set_key("remove", "1")});
  change_keys(d, "a", {clear_key("remove")});
  d.continue_as_new("a");
  d.check.equal(next_snapshot(d), "keep=1", "snapshot");
}

void no_key_is_carried_over_after_clear_all(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("a", "1"), set_key("b", "1")});
  d.continue_as_new("a");
  change_keys(d, "a", {clear_all_keys()});
  d.check.equal(next_snapshot(d), "a=1 b=1", "snapshot of the execution that cleared them");
  d.continue_as_new("a");
  d.check.equal(next_snapshot(d), "", "snapshot of the next");
}

void pruning_the_execution_that_set_a_key_keeps_its_newer_value(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("shared", "1")});
  d.continue_as_new("a");
  change_keys(d, "a", {set_key("shared", "2")});
  d.prune("a", {.keep_last = 1});
  d.check.equal(values_now(d), "shared=2", "now");
}

void a_later_execution_overwrites_a_key_value(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("k", "v1")});
  d.continue_as_new("a");
  d.check.equal(values_now(d), "k=v1", "before");
  change_keys(d, "a", {set_key("k", "v2")});
  d.check.equal(values_now(d), "k=v2", "after");
}

void a_key_can_be_set_again_after_an_execution_cleared_it(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("cycle", "1")});
  d.check.equal(values_now(d), "cycle=1", "in the first");
  d.continue_as_new("a");
  change_keys(d, "a", {clear_key("cycle")});
  d.check.equal(values_now(d), "", "in the second");
  d.continue_as_new("a");
  change_keys(d, "a", {set_key("cycle", "3")});
  d.check.equal(values_now(d), "cycle=3", "in the third");
  d.check.equal(next_snapshot(d), "", "at the start of the third");
}

void pruning_changes_no_key_value(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("k", "v1"), set_key("once", "1")});
  d.continue_as_new("a");
  change_keys(d, "a", {set_key("k", "v2")});
  d.check.equal(d.prune("a", {.keep_last = 1}).executions, 1u, "pruned");
  d.check.equal(values_now(d), "k=v2 once=1", "now");
}

void keys_of_pruned_executions_stay(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("orphan", "1")});
  d.continue_as_new("a");
  change_keys(d, "a", {set_key("keeper", "2")});
  d.check.equal(d.prune("a", {.keep_last = 1}).executions, 1u, "pruned");
  d.check.equal(values_now(d), "keeper=2 orphan=1", "now");
}

void equal_keys_of_two_instances_are_independent(Driver& d) {
  d.running("a");
  d.running("b");
  change_keys(d, "a", {set_key("k", "of a")});
  change_keys(d, "b", {set_key("k", "of b")});
  d.check.equal(values_now(d, "a"), "k=of a", "of the one");
  d.check.equal(values_now(d, "b"), "k=of b", "of the other");
}

void key_values_are_deleted_with_their_instance(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("k", "1")});
  d.finish("a");
  d.remove("a");
  d.check.equal(values_now(d), "", "after the deletion");
  d.running("a");
  d.check.equal(values_now(d), "", "of a new instance of that name");
}

void clearing_an_unknown_key_does_nothing(Driver& d) {
  d.running("a");
  change_keys(d, "a", {clear_key("nothing"), clear_all_keys()});
  d.check.equal(values_now(d), "", "now");
}

void an_unknown_instance_has_no_key_values(Driver& d) {
  d.check.that(d.key_values("unknown").empty(), "key-values");
}

void a_set_after_clear_all_stays(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("old_a", "1"), set_key("old_b", "1")});
  change_keys(d, "a", {clear_all_keys(), set_key("new_x", "1")});
  d.check.equal(values_now(d), "new_x=1", "now");
}

void an_empty_key_value_is_kept(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("blank", "")});
  d.check.that(d.key_values("a").contains("blank"), "it is there");
  d.continue_as_new("a");
  d.check.equal(next_snapshot(d), "blank=", "and is carried over");
}

void the_longest_key_value_is_stored_unchanged(Driver& d) {
  const std::string large(max_key_value_bytes, 'x');
  d.running("a");
  change_keys(d, "a", {set_key("large", large)});
  d.check.that(d.key_values("a").at("large").value == Payload::text(large), "as it was");
}

void a_key_may_be_any_text(Driver& d) {
  d.running("a");
  const std::vector<std::string> keys{"with space", "\xE6\xBC\xA2\xE5\xAD\x97", "a.b.c",
                                      "a/b",        "\xF0\x9F\x8C\xB3",         "%_'\""};
  std::vector<KeyValueChange> changes;
  for (const auto& key : keys) changes.push_back(set_key(key, "of " + key));
  change_keys(d, "a", changes);
  for (const auto& key : keys) {
    const KeyValues values = d.key_values("a");
    d.check.that(values.contains(key) && values.at(key).value.data == "of " + key, key);
  }
}

void a_turn_without_key_values_begins_with_none(Driver& d) {
  d.running("a");
  d.check.equal(next_snapshot(d), "", "snapshot");
}

void a_turn_begins_without_the_key_values_of_its_own_execution(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("A", "1")});
  d.continue_as_new("a");
  change_keys(d, "a", {set_key("B", "2")});
  d.check.equal(next_snapshot(d), "A=1", "snapshot");
}

void pruning_the_only_execution_keeps_its_key_values(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("k", "1")});
  d.check.equal(d.prune("a", {.keep_last = 1}).executions, 0u, "pruned");
  d.check.equal(values_now(d), "k=1", "now");
}

void key_values_of_children_are_deleted_with_the_tree(Driver& d) {
  d.running("root");
  change_keys(d, "root", {set_key("k", "1")});
  d.child("root", "leaf");
  change_keys(d, "leaf", {set_key("k", "2")});
  d.finish("leaf");
  d.finish("root");
  d.check.equal(d.remove("root").instances, 2u, "deleted");
  d.check.that(values_now(d, "root").empty() && values_now(d, "leaf").empty(), "both are gone");
}

void clear_all_affects_only_its_instance(Driver& d) {
  d.running("a");
  d.running("b");
  change_keys(d, "a", {set_key("k", "1")});
  change_keys(d, "b", {set_key("k", "1")});
  change_keys(d, "a", {clear_all_keys()});
  d.check.that(values_now(d, "a").empty() && values_now(d, "b") == "k=1", "only the one");
}

void readers_see_a_key_value_at_once_and_replay_does_not(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("counter", "1")});
  d.check.equal(values_now(d), "counter=1", "for readers");
  d.check.equal(next_snapshot(d), "", "for replay");
}

void key_values_of_an_ended_execution_are_in_the_next_snapshot(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("counter", "5")});
  d.continue_as_new("a");
  d.check.equal(next_snapshot(d), "counter=5", "snapshot");
}

void readers_see_the_key_values_of_all_executions_merged(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("color", "red"), set_key("size", "large")});
  d.continue_as_new("a");
  change_keys(d, "a", {set_key("color", "blue"), set_key("shape", "circle")});
  d.check.equal(values_now(d), "color=blue shape=circle size=large", "now");
}

void a_clear_hides_the_key_value_of_an_earlier_execution(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("temp", "1")});
  d.continue_as_new("a");
  change_keys(d, "a", {clear_key("temp")});
  d.check.equal(values_now(d), "", "for readers");
  d.check.equal(next_snapshot(d), "temp=1", "for replay");
}

void clear_all_hides_the_key_values_of_earlier_executions(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("a", "1"), set_key("b", "1")});
  d.continue_as_new("a");
  change_keys(d, "a", {clear_all_keys(), set_key("c", "1")});
  d.check.equal(values_now(d), "c=1", "now");
}

void key_values_can_be_read_after_completion(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("result", "1")});
  d.finish("a");
  d.check.equal(values_now(d), "result=1", "now");
}

void continue_as_new_carries_over_the_changes_of_all_turns(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("version", "1"), set_key("progress", "50%")});
  change_keys(d, "a", {set_key("progress", "100%")});
  d.continue_as_new("a");
  d.check.equal(next_snapshot(d), "progress=100% version=1", "snapshot");
}

void key_values_of_a_running_execution_are_deleted_by_force(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("k", "1")});
  d.remove("a", DeleteMode::force);
  d.check.equal(values_now(d), "", "now");
}

void a_key_unchanged_for_two_executions_survives_pruning(Driver& d) {
  d.running("a");
  change_keys(d, "a", {set_key("stale_config", "1")});
  d.continue_as_new("a");
  change_keys(d, "a", {set_key("other", "2")});
  d.continue_as_new("a");
  d.check.equal(d.prune("a", {.keep_last = 1}).executions, 2u, "pruned");
  d.check.equal(values_now(d), "other=2 stale_config=1", "now");
  d.check.equal(next_snapshot(d), "other=2 stale_config=1", "snapshot");
}

}  // namespace

std::span<const ConformanceCase> key_value_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(key_value_changes_of_a_turn_apply_in_order),
      DURAMEN_CASE(key_values_belong_to_one_instance),
      DURAMEN_CASE(other_turns_keep_key_values),
      DURAMEN_CASE(an_execution_begins_with_the_key_values_of_earlier_ones),
      DURAMEN_CASE(a_repeated_fetch_shows_the_same_key_values),
      DURAMEN_CASE(a_refused_turn_changes_no_key_values),
      DURAMEN_CASE(every_kind_of_turn_may_change_key_values),
      DURAMEN_CASE(key_values_survive_the_end_of_their_instance),
      DURAMEN_CASE(key_values_are_deleted_with_a_replaced_instance),
      DURAMEN_CASE(key_values_keep_text_encoding_and_time),
      DURAMEN_CASE(a_key_value_that_was_set_can_be_read, .reference = "test_kv_set_and_get"),
      DURAMEN_CASE(a_second_set_overwrites_a_key_value, .reference = "test_kv_overwrite"),
      DURAMEN_CASE(clearing_one_key_keeps_the_others, .reference = "test_kv_clear_single"),
      DURAMEN_CASE(clear_all_clears_every_key, .reference = "test_kv_clear_all"),
      DURAMEN_CASE(a_new_instance_has_no_key_values, .reference = "test_kv_get_nonexistent"),
      DURAMEN_CASE(the_next_execution_begins_with_the_last_key_values,
                   .reference = "test_kv_snapshot_in_fetch",
                   .difference = "by continue-as-new: an instance that has ended is not fetched again"),
      DURAMEN_CASE(a_cleared_key_is_not_carried_over, .reference = "test_kv_snapshot_after_clear_single",
                   .difference = "by continue-as-new"),
      DURAMEN_CASE(no_key_is_carried_over_after_clear_all, .reference = "test_kv_snapshot_after_clear_all",
                   .difference = "over two executions, so that it can fail"),
      DURAMEN_CASE(pruning_the_execution_that_set_a_key_keeps_its_newer_value,
                   .reference = "test_kv_execution_id_tracking"),
      DURAMEN_CASE(a_later_execution_overwrites_a_key_value,
                   .reference = "test_kv_cross_execution_overwrite"),
      DURAMEN_CASE(a_key_can_be_set_again_after_an_execution_cleared_it,
                   .reference = "test_kv_cross_execution_remove_readd"),
      DURAMEN_CASE(pruning_changes_no_key_value, .reference = "test_kv_prune_preserves_overwritten"),
      DURAMEN_CASE(keys_of_pruned_executions_stay, .reference = "test_kv_prune_preserves_all_keys"),
      DURAMEN_CASE(equal_keys_of_two_instances_are_independent, .reference = "test_kv_instance_isolation"),
      DURAMEN_CASE(key_values_are_deleted_with_their_instance,
                   .reference = "test_kv_delete_instance_cascades"),
      DURAMEN_CASE(clearing_an_unknown_key_does_nothing, .reference = "test_kv_clear_nonexistent_key"),
      DURAMEN_CASE(an_unknown_instance_has_no_key_values, .reference = "test_kv_get_unknown_instance"),
      DURAMEN_CASE(a_set_after_clear_all_stays, .reference = "test_kv_set_after_clear"),
      DURAMEN_CASE(an_empty_key_value_is_kept, .reference = "test_kv_empty_value"),
      DURAMEN_CASE(the_longest_key_value_is_stored_unchanged, .reference = "test_kv_large_value",
                   .difference = "the longest value allowed"),
      DURAMEN_CASE(a_key_may_be_any_text, .reference = "test_kv_special_chars_in_key"),
      DURAMEN_CASE(a_turn_without_key_values_begins_with_none, .reference = "test_kv_snapshot_empty"),
      DURAMEN_CASE(a_turn_begins_without_the_key_values_of_its_own_execution,
                   .reference = "test_kv_snapshot_cross_execution"),
      DURAMEN_CASE(pruning_the_only_execution_keeps_its_key_values,
                   .reference = "test_kv_prune_current_execution_protected"),
      DURAMEN_CASE(key_values_of_children_are_deleted_with_the_tree,
                   .reference = "test_kv_delete_instance_with_children"),
      DURAMEN_CASE(clear_all_affects_only_its_instance, .reference = "test_kv_clear_isolation"),
      DURAMEN_CASE(readers_see_a_key_value_at_once_and_replay_does_not,
                   .reference = "test_kv_delta_snapshot_excludes_current_execution"),
      DURAMEN_CASE(key_values_of_an_ended_execution_are_in_the_next_snapshot,
                   .reference = "test_kv_delta_snapshot_includes_completed_execution"),
      DURAMEN_CASE(readers_see_the_key_values_of_all_executions_merged,
                   .reference = "test_kv_delta_client_reads_merged", .difference = "by continue-as-new"),
      DURAMEN_CASE(a_clear_hides_the_key_value_of_an_earlier_execution,
                   .reference = "test_kv_delta_tombstone_overrides_store",
                   .difference = "by continue-as-new; the values that replay begins with are also checked"),
      DURAMEN_CASE(clear_all_hides_the_key_values_of_earlier_executions,
                   .reference = "test_kv_delta_clear_all_tombstones_store",
                   .difference = "by continue-as-new"),
      DURAMEN_CASE(key_values_can_be_read_after_completion,
                   .reference = "test_kv_delta_merged_on_completion"),
      DURAMEN_CASE(continue_as_new_carries_over_the_changes_of_all_turns,
                   .reference = "test_kv_delta_merged_on_can"),
      DURAMEN_CASE(key_values_of_a_running_execution_are_deleted_by_force,
                   .reference = "test_kv_delta_delete_instance_cascades"),
      DURAMEN_CASE(a_key_unchanged_for_two_executions_survives_pruning,
                   .reference = "test_kv_delta_prune_untouched_key_survives"),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
