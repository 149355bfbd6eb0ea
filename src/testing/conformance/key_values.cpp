// Key-values: what readers see, what replay begins with, how long they live.
#include <duramen/key_values.hpp>

#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

constexpr TimePoint at = from_unix_ms(1'750'000'000'123);

KeyValueChange set(std::string key, std::string value) {
  return {std::move(key), Payload::text(std::move(value)), at};
}
KeyValueChange clear(std::string key) { return {std::move(key), std::nullopt, at}; }
KeyValueChange clear_all() { return {std::nullopt, std::nullopt, at}; }

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

void key_values_are_changed_in_order(Driver& d) {
  d.running("a");
  d.must_commit(changing(d.turn(d.woken("a")),
                         {clear("x"), clear_all(), set("x", "1"), set("y", "1"), clear("x"), set("z", "1")}));
  d.check.equal(text_of(d.key_values("a")), "y=1 z=1", "set and cleared");
  d.must_commit(changing(d.turn(d.woken("a")), {set("y", "2"), set("y", "3"), clear("z"), set("z", "4")}));
  d.check.equal(text_of(d.key_values("a")), "y=3 z=4", "the last word counts");
  d.must_commit(changing(d.turn(d.woken("a")), {set("w", "1"), clear_all(), set("v", "1"), set("y", "5")}));
  d.check.equal(text_of(d.key_values("a")), "v=1 y=5", "what comes after a clear-all stays");
  d.must_commit(changing(d.turn(d.woken("a")), {clear_all()}));
  d.check.equal(text_of(d.key_values("a")), "", "nothing is left");
}

void key_values_belong_to_one_instance(Driver& d) {
  d.check.that(d.key_values("nobody").empty(), "an unknown instance has none");
  d.running("a");
  d.running("b");
  d.check.that(d.key_values("a").empty(), "an instance begins with none");
  d.must_commit(changing(d.turn(d.woken("a")), {set("x", "a")}));
  d.must_commit(changing(d.turn(d.woken("b")), {set("x", "b"), set("y", "b")}));
  d.must_commit(changing(d.turn(d.woken("b")), {clear_all()}));
  d.check.equal(text_of(d.key_values("a")), "x=a", "of the one");
  d.check.equal(text_of(d.key_values("b")), "", "of the other");
}

void other_turns_leave_key_values_alone(Driver& d) {
  d.running("a");
  d.must_commit(changing(d.turn(d.woken("a")), {set("x", "1")}));
  for (int i = 0; i < 3; ++i) d.must_commit(d.turn(d.woken("a")));
  d.check.equal(text_of(d.key_values("a")), "x=1", "key-values");
}

void an_execution_begins_with_what_earlier_ones_left(Driver& d) {
  const auto fetched = [&](const LeasedInstance& item, std::string_view expected) {
    d.check.equal(text_of(item.key_values), expected, "as earlier executions left them");
    return item;
  };
  const auto now = [&](std::string_view expected) {
    d.check.equal(text_of(d.key_values("a")), expected, "as they are now");
  };
  d.running("a");
  d.must_commit(changing(d.turn(fetched(d.woken("a"), "")), {set("x", "1"), set("y", "1")}));
  now("x=1 y=1");
  d.must_commit(changing(d.continuing_turn(fetched(d.woken("a"), "")), {set("y", "2"), set("z", "1")}));
  now("x=1 y=2 z=1");

  d.must_commit(
      changing(d.next_execution(fetched(d.fetch_one(), "x=1 y=2 z=1")), {clear("x"), set("y", "3")}));
  now("y=3 z=1");
  d.must_commit(changing(d.turn(fetched(d.woken("a"), "x=1 y=2 z=1")), {set("w", "1"), clear("w")}));
  now("y=3 z=1");
  d.must_commit(changing(d.turn(fetched(d.woken("a"), "x=1 y=2 z=1")), {set("x", "4"), clear("z")}));
  now("x=4 y=3");
  d.must_commit(d.continuing_turn(fetched(d.woken("a"), "x=1 y=2 z=1")));
  now("x=4 y=3");

  d.must_commit(changing(d.next_execution(fetched(d.fetch_one(), "x=4 y=3")), {clear_all()}));
  now("");
  d.must_commit(changing(d.turn(fetched(d.woken("a"), "x=4 y=3")), {set("y", "5")}));
  now("y=5");
  d.must_commit(changing(d.continuing_turn(fetched(d.woken("a"), "x=4 y=3")), {clear_all()}));
  now("");
  d.must_commit(d.next_execution(fetched(d.fetch_one(), "")));
  now("");
}

void a_turn_run_again_begins_with_the_same_key_values(Driver& d) {
  d.running("a");
  d.must_commit(changing(d.continuing_turn(d.woken("a")), {set("x", "1")}));
  const LeasedInstance item = d.fetch_one();
  d.advance(d.lease + 1ms);
  const LeasedInstance again = d.fetch_one();
  d.check.that(item.key_values == again.key_values, "after a lease that ended");
  d.abandon(again);
  d.check.equal(text_of(d.fetch_one().key_values), "x=1", "after it was given back");
}

void a_turn_that_is_not_stored_changes_no_key_values(Driver& d) {
  d.running("a");
  const TurnCommit good = changing(d.turn(d.woken("a")), {set("x", "1")});
  TurnCommit invalid = changing(good, {set("x", "invalid"), set("y", "invalid")});
  invalid.token = d.new_commit_token();
  invalid.events = {raised(7, "x")};
  d.check.equal(d.commit(invalid).outcome, CommitOutcome::invalid, "a turn with wrong ids");
  d.check.equal(text_of(d.key_values("a")), "", "key-values");
  d.must_commit(good);
  d.must_commit(changing(d.turn(d.woken("a")), {set("x", "2")}));

  const LeasedInstance item = d.woken("a");
  d.advance(d.lease + 1ms);
  const TurnCommit late = changing(d.continuing_turn(item), {clear_all()});
  d.check.equal(d.commit(late).outcome, CommitOutcome::lease_lost, "a turn that is late");
  const TurnCommit wrong = changing(d.conditional(d.info("a").value(), EventId{9}), {clear("x")});
  d.check.equal(d.commit(wrong).outcome, CommitOutcome::condition_failed, "a turn that guessed wrong");
  d.check.equal(text_of(d.key_values("a")), "x=2", "key-values");
  d.check.equal(text_of(d.fetch_one().key_values), "", "as earlier executions left them");
}

void every_kind_of_turn_may_change_key_values(Driver& d) {
  d.must_commit(changing(d.fused("a"), {set("x", "1"), set("y", "1")}));
  d.check.equal(text_of(d.key_values("a")), "x=1 y=1", "after a fused start");
  const InstanceInfo info = d.info("a").value();
  d.must_commit(changing(d.conditional(info, EventId{1}), {clear("x"), set("z", "1")}));
  d.check.equal(text_of(d.key_values("a")), "y=1 z=1", "after a conditional turn");
  d.must_commit(changing(d.final_turn(d.woken("a")), {set("y", "2")}));
  d.check.equal(text_of(d.key_values("a")), "y=2 z=1", "after a final turn");

  TurnCommit only = changing(d.fused("b"), {set("x", "1")});
  only.change.status = Status::continued_as_new;
  only.messages = {{"b", message::ContinueAsNew{.orchestration = "Orch"}}};
  d.must_commit(only);
  d.check.equal(text_of(d.fetch_one().key_values), "x=1", "for the execution after a fused start");
}

void key_values_survive_the_end(Driver& d) {
  for (const Status end : {Status::completed, Status::failed, Status::cancelled}) {
    const InstanceId id{std::string(to_string(end))};
    d.running(id);
    d.must_commit(changing(d.turn(d.woken(id)), {set("x", "1"), set("y", "1")}));
    TurnCommit last = changing(d.final_turn(d.woken(id)), {clear("y"), set("z", "1")});
    last.change.status = end;
    d.must_commit(last);
    d.check.equal(text_of(d.key_values(id)), "x=1 z=1", to_string(end));
  }
}

void key_values_vanish_with_their_instance(Driver& d) {
  d.running("a");
  d.must_commit(changing(d.continuing_turn(d.woken("a")), {set("x", "1")}));
  d.must_commit(changing(d.next_execution(d.fetch_one()), {set("y", "1")}));
  d.must_commit(d.final_turn(d.woken("a")));
  d.check.equal(d.start("a", "Orch", "in", IdReuse::replace_when_final), StartOutcome::created, "start");
  d.check.equal(text_of(d.key_values("a")), "", "after a start");
  const LeasedInstance item = d.fetch_one();
  d.check.equal(text_of(item.key_values), "", "for its first turn");

  d.must_commit(changing(d.final_turn(item), {set("z", "1")}));
  d.must_commit(changing(d.fused("a", "Orch", "in", IdReuse::replace_when_final), {set("w", "1")}));
  d.check.equal(text_of(d.key_values("a")), "w=1", "after a fused start");
  d.check.equal(text_of(d.woken("a").key_values), "", "for its second turn");
}

void key_values_survive_as_they_were(Driver& d) {
  const std::string odd = "'\"\\\n\t\x01 \xF0\x9F\x8C\xB3";
  const KeyValues expected{
      {"empty text", {Payload::text(""), at}},
      {"empty json", {Payload::json(""), at}},
      {"text", {Payload::text("null"), at + 1ms}},
      {"json", {Payload::json("null"), at + 2ms}},
      {"case", {Payload::text("lower"), at}},
      {"Case", {Payload::text("upper"), at}},
      {odd, {Payload::text(odd), at}},
      {"long", {Payload::text(std::string(max_key_value_bytes, 'x')), at}},
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

  // The same text, but for its encoding or its time, is another value.
  KeyValues changed = expected;
  changed["text"] = {Payload::json("null"), at + 1ms};
  changed["json"] = {Payload::json("null"), at + 3ms};
  TurnCommit next = d.next_execution(item);
  for (const char* key : {"text", "json"}) {
    next.change.key_values.push_back({key, changed[key].value, changed[key].updated_at});
  }
  d.must_commit(next);
  d.must_commit(d.continuing_turn(d.woken("a")));
  d.check.that(d.key_values("a") == changed, "changed");
  d.check.that(d.fetch_one().key_values == changed, "changed, for the next execution");
}

constexpr ConformanceCase cases[] = {
    {"key_values_are_changed_in_order", "Within a turn, the last change of a key counts.",
     told<key_values_are_changed_in_order>},
    {"key_values_belong_to_one_instance", "Equal keys of two instances have nothing to do with each other.",
     told<key_values_belong_to_one_instance>},
    {"other_turns_leave_key_values_alone", "A turn without changes changes nothing.",
     told<other_turns_leave_key_values_alone>},
    {"an_execution_begins_with_what_earlier_ones_left",
     "Readers see changes at once; a fetch shows none of the current execution.",
     told<an_execution_begins_with_what_earlier_ones_left>},
    {"a_turn_run_again_begins_with_the_same_key_values", "Every fetch of one execution shows the same.",
     told<a_turn_run_again_begins_with_the_same_key_values>},
    {"a_turn_that_is_not_stored_changes_no_key_values", "Refused turns change nothing.",
     told<a_turn_that_is_not_stored_changes_no_key_values>},
    {"every_kind_of_turn_may_change_key_values", "Fused, conditional and final turns change them as well.",
     told<every_kind_of_turn_may_change_key_values>},
    {"key_values_survive_the_end", "However an instance ends, what it left can be read.",
     told<key_values_survive_the_end>},
    {"key_values_vanish_with_their_instance", "A new instance of the same id begins with none.",
     told<key_values_vanish_with_their_instance>},
    {"key_values_survive_as_they_were", "Empty is a value; encodings and times are kept.",
     told<key_values_survive_as_they_were>},
};

}  // namespace

std::span<const ConformanceCase> key_value_cases() { return cases; }

}  // namespace duramen::inline v0::testing
