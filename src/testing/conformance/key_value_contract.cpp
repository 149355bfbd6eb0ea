// Key-values, one promise at a time: set, cleared, kept over executions, pruned, deleted.
#include "testing/conformance/driver.hpp"
#include <duramen/key_values.hpp>

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

KeyValueChange set(std::string key, std::string value) {
  return {std::move(key), Payload::text(std::move(value)), from_unix_ms(1'750'000'000'123)};
}
KeyValueChange clear(std::string key) { return {std::move(key), std::nullopt, {}}; }
KeyValueChange clear_all() { return {std::nullopt, std::nullopt, {}}; }

/// "a=1 b=2"
std::string text_of(const KeyValues& values) {
  std::string text;
  for (const auto& [key, entry] : values) text += (text.empty() ? "" : " ") + key + "=" + entry.value.data;
  return text;
}
std::string now(Driver& d, const InstanceId& id = "a") { return text_of(d.key_values(id)); }

TurnCommit with(TurnCommit commit, std::vector<KeyValueChange> changes) {
  commit.change.key_values = std::move(changes);
  return commit;
}
/// A turn of the running instance that makes these changes.
void change(Driver& d, const InstanceId& id, std::vector<KeyValueChange> changes) {
  d.must_commit(with(d.turn(d.woken(id)), std::move(changes)));
}
/// What the next turn would begin with.
std::string snapshot(Driver& d, const InstanceId& id = "a") {
  const LeasedInstance item = d.woken(id);
  d.must_commit(d.turn(item));
  return text_of(item.key_values);
}

void test_kv_set_and_get(Driver& d) {
  d.running("a");
  change(d, "a", {set("counter", "42")});
  d.check.equal(now(d), "counter=42", "now");
}

void test_kv_overwrite(Driver& d) {
  d.running("a");
  change(d, "a", {set("status", "old")});
  change(d, "a", {set("status", "new")});
  d.check.equal(now(d), "status=new", "now");
}

void test_kv_clear_single(Driver& d) {
  d.running("a");
  change(d, "a", {set("k", "1"), set("other", "1")});
  change(d, "a", {clear("k")});
  d.check.equal(now(d), "other=1", "now");
}

void test_kv_clear_all(Driver& d) {
  d.running("a");
  change(d, "a", {set("a", "1"), set("b", "2")});
  change(d, "a", {clear_all()});
  d.check.equal(now(d), "", "now");
}

void test_kv_get_nonexistent(Driver& d) {
  d.running("a");
  d.check.equal(now(d), "", "now");
}

void test_kv_snapshot_in_fetch(Driver& d) {
  d.running("a");
  change(d, "a", {set("x", "10"), set("y", "20")});
  d.continue_as_new("a");
  d.check.equal(snapshot(d), "x=10 y=20", "snapshot");
}

void test_kv_snapshot_after_clear_single(Driver& d) {
  d.running("a");
  change(d, "a", {set("keep", "1"), set("remove", "1")});
  change(d, "a", {clear("remove")});
  d.continue_as_new("a");
  d.check.equal(snapshot(d), "keep=1", "snapshot");
}

void test_kv_snapshot_after_clear_all(Driver& d) {
  d.running("a");
  change(d, "a", {set("a", "1"), set("b", "1")});
  d.continue_as_new("a");
  change(d, "a", {clear_all()});
  d.check.equal(snapshot(d), "a=1 b=1", "snapshot of the execution that cleared them");
  d.continue_as_new("a");
  d.check.equal(snapshot(d), "", "snapshot of the next");
}

void test_kv_execution_id_tracking(Driver& d) {
  d.running("a");
  change(d, "a", {set("shared", "1")});
  d.continue_as_new("a");
  change(d, "a", {set("shared", "2")});
  d.prune("a", {.keep_last = 1});
  d.check.equal(now(d), "shared=2", "now");
}

void test_kv_cross_execution_overwrite(Driver& d) {
  d.running("a");
  change(d, "a", {set("k", "v1")});
  d.continue_as_new("a");
  d.check.equal(now(d), "k=v1", "before");
  change(d, "a", {set("k", "v2")});
  d.check.equal(now(d), "k=v2", "after");
}

void test_kv_cross_execution_remove_readd(Driver& d) {
  d.running("a");
  change(d, "a", {set("cycle", "1")});
  d.check.equal(now(d), "cycle=1", "in the first");
  d.continue_as_new("a");
  change(d, "a", {clear("cycle")});
  d.check.equal(now(d), "", "in the second");
  d.continue_as_new("a");
  change(d, "a", {set("cycle", "3")});
  d.check.equal(now(d), "cycle=3", "in the third");
  d.check.equal(snapshot(d), "", "what the third began with");
}

void test_kv_prune_preserves_all_keys(Driver& d) {
  d.running("a");
  change(d, "a", {set("orphan", "1")});
  d.continue_as_new("a");
  change(d, "a", {set("keeper", "2")});
  d.check.equal(d.prune("a", {.keep_last = 1}).executions, 1u, "pruned");
  d.check.equal(now(d), "keeper=2 orphan=1", "now");
}

void test_kv_instance_isolation(Driver& d) {
  d.running("a");
  d.running("b");
  change(d, "a", {set("k", "of a")});
  change(d, "b", {set("k", "of b")});
  d.check.equal(now(d, "a"), "k=of a", "of the one");
  d.check.equal(now(d, "b"), "k=of b", "of the other");
}

void test_kv_delete_instance_cascades(Driver& d) {
  d.running("a");
  change(d, "a", {set("k", "1")});
  d.finish("a");
  d.remove("a");
  d.check.equal(now(d), "", "after the deletion");
  d.running("a");
  d.check.equal(now(d), "", "of a new instance of that name");
}

void test_kv_clear_nonexistent_key(Driver& d) {
  d.running("a");
  change(d, "a", {clear("nothing"), clear_all()});
  d.check.equal(now(d), "", "now");
}

void test_kv_get_unknown_instance(Driver& d) { d.check.that(d.key_values("nobody").empty(), "key-values"); }

void test_kv_set_after_clear(Driver& d) {
  d.running("a");
  change(d, "a", {set("old_a", "1"), set("old_b", "1")});
  change(d, "a", {clear_all(), set("new_x", "1")});
  d.check.equal(now(d), "new_x=1", "now");
}

void test_kv_empty_value(Driver& d) {
  d.running("a");
  change(d, "a", {set("blank", "")});
  d.check.that(d.key_values("a").contains("blank"), "it is there");
  d.continue_as_new("a");
  d.check.equal(snapshot(d), "blank=", "and is carried over");
}

void test_kv_large_value(Driver& d) {
  const std::string large(max_key_value_bytes, 'x');
  d.running("a");
  change(d, "a", {set("large", large)});
  d.check.that(d.key_values("a").at("large").value == Payload::text(large), "as it was");
}

void test_kv_special_chars_in_key(Driver& d) {
  d.running("a");
  const std::vector<std::string> keys{"with space", "\xE6\xBC\xA2\xE5\xAD\x97", "a.b.c",
                                      "a/b",        "\xF0\x9F\x8C\xB3",         "%_'\""};
  std::vector<KeyValueChange> changes;
  for (const auto& key : keys) changes.push_back(set(key, "of " + key));
  change(d, "a", changes);
  for (const auto& key : keys) {
    const KeyValues values = d.key_values("a");
    d.check.that(values.contains(key) && values.at(key).value.data == "of " + key, key);
  }
}

void test_kv_snapshot_empty(Driver& d) {
  d.running("a");
  d.check.equal(snapshot(d), "", "snapshot");
}

void test_kv_snapshot_cross_execution(Driver& d) {
  d.running("a");
  change(d, "a", {set("A", "1")});
  d.continue_as_new("a");
  change(d, "a", {set("B", "2")});
  d.check.equal(snapshot(d), "A=1", "snapshot");
}

void test_kv_prune_current_execution_protected(Driver& d) {
  d.running("a");
  change(d, "a", {set("k", "1")});
  d.check.equal(d.prune("a", {.keep_last = 1}).executions, 0u, "pruned");
  d.check.equal(now(d), "k=1", "now");
}

void test_kv_delete_instance_with_children(Driver& d) {
  d.running("root");
  change(d, "root", {set("k", "1")});
  d.child("root", "leaf");
  change(d, "leaf", {set("k", "2")});
  d.finish("leaf");
  d.finish("root");
  d.check.equal(d.remove("root").instances, 2u, "deleted");
  d.check.that(now(d, "root").empty() && now(d, "leaf").empty(), "both are gone");
}

void test_kv_clear_isolation(Driver& d) {
  d.running("a");
  d.running("b");
  change(d, "a", {set("k", "1")});
  change(d, "b", {set("k", "1")});
  change(d, "a", {clear_all()});
  d.check.that(now(d, "a").empty() && now(d, "b") == "k=1", "only the one");
}

void test_kv_delta_snapshot_excludes_current_execution(Driver& d) {
  d.running("a");
  change(d, "a", {set("counter", "1")});
  d.check.equal(now(d), "counter=1", "for readers");
  d.check.equal(snapshot(d), "", "for replay");
}

void test_kv_delta_snapshot_includes_completed_execution(Driver& d) {
  d.running("a");
  change(d, "a", {set("counter", "5")});
  d.continue_as_new("a");
  d.check.equal(snapshot(d), "counter=5", "snapshot");
}

void test_kv_delta_client_reads_merged(Driver& d) {
  d.running("a");
  change(d, "a", {set("color", "red"), set("size", "large")});
  d.continue_as_new("a");
  change(d, "a", {set("color", "blue"), set("shape", "circle")});
  d.check.equal(now(d), "color=blue shape=circle size=large", "now");
}

void test_kv_delta_tombstone_overrides_store(Driver& d) {
  d.running("a");
  change(d, "a", {set("temp", "1")});
  d.continue_as_new("a");
  change(d, "a", {clear("temp")});
  d.check.equal(now(d), "", "for readers");
  d.check.equal(snapshot(d), "temp=1", "for replay");
}

void test_kv_delta_clear_all_tombstones_store(Driver& d) {
  d.running("a");
  change(d, "a", {set("a", "1"), set("b", "1")});
  d.continue_as_new("a");
  change(d, "a", {clear_all(), set("c", "1")});
  d.check.equal(now(d), "c=1", "now");
}

void test_kv_delta_merged_on_completion(Driver& d) {
  d.running("a");
  change(d, "a", {set("result", "1")});
  d.finish("a");
  d.check.equal(now(d), "result=1", "now");
}

void test_kv_delta_merged_on_can(Driver& d) {
  d.running("a");
  change(d, "a", {set("version", "1"), set("progress", "50%")});
  change(d, "a", {set("progress", "100%")});
  d.continue_as_new("a");
  d.check.equal(snapshot(d), "progress=100% version=1", "snapshot");
}

void test_kv_delta_delete_instance_cascades(Driver& d) {
  d.running("a");
  change(d, "a", {set("k", "1")});
  d.remove("a", DeleteMode::force);
  d.check.equal(now(d), "", "now");
}

void test_kv_delta_prune_untouched_key_survives(Driver& d) {
  d.running("a");
  change(d, "a", {set("stale_config", "1")});
  d.continue_as_new("a");
  change(d, "a", {set("other", "2")});
  d.continue_as_new("a");
  d.check.equal(d.prune("a", {.keep_last = 1}).executions, 2u, "pruned");
  d.check.equal(now(d), "other=2 stale_config=1", "now");
  d.check.equal(snapshot(d), "other=2 stale_config=1", "snapshot");
}

constexpr ConformanceCase cases[] = {
    {"test_kv_set_and_get", "A value that was set can be read.", told<test_kv_set_and_get>},
    {"test_kv_overwrite", "The last value counts.", told<test_kv_overwrite>},
    {"test_kv_clear_single", "A cleared key is gone, the others stay.", told<test_kv_clear_single>},
    {"test_kv_clear_all", "All keys can be cleared at once.", told<test_kv_clear_all>},
    {"test_kv_get_nonexistent", "An instance without keys has none.", told<test_kv_get_nonexistent>},
    {"test_kv_snapshot_in_fetch", "The next execution begins with what the last one left.",
     told<test_kv_snapshot_in_fetch>},
    {"test_kv_snapshot_after_clear_single", "What was cleared is not carried over.",
     told<test_kv_snapshot_after_clear_single>},
    {"test_kv_snapshot_after_clear_all", "After a clear-all nothing is carried over.",
     told<test_kv_snapshot_after_clear_all>},
    {"test_kv_execution_id_tracking", "Pruning the execution that set a key first leaves its newer value.",
     told<test_kv_execution_id_tracking>},
    {"test_kv_cross_execution_overwrite", "A later execution overwrites.",
     told<test_kv_cross_execution_overwrite>},
    {"test_kv_cross_execution_remove_readd", "Set, cleared, set again over three executions.",
     told<test_kv_cross_execution_remove_readd>},
    {"test_kv_prune_preserves_overwritten", "Pruning changes no value.", told<test_kv_execution_id_tracking>},
    {"test_kv_prune_preserves_all_keys", "Keys of pruned executions stay.",
     told<test_kv_prune_preserves_all_keys>},
    {"test_kv_instance_isolation", "Equal keys of two instances have nothing to do with each other.",
     told<test_kv_instance_isolation>},
    {"test_kv_delete_instance_cascades", "They go with their instance.",
     told<test_kv_delete_instance_cascades>},
    {"test_kv_clear_nonexistent_key", "Clearing what is not there is fine.",
     told<test_kv_clear_nonexistent_key>},
    {"test_kv_get_unknown_instance", "An unknown instance has none.", told<test_kv_get_unknown_instance>},
    {"test_kv_set_after_clear", "Within a turn, what comes after a clear-all stays.",
     told<test_kv_set_after_clear>},
    {"test_kv_empty_value", "Empty is a value.", told<test_kv_empty_value>},
    {"test_kv_large_value", "A long value is stored as it is.", told<test_kv_large_value>},
    {"test_kv_special_chars_in_key", "A key is any text.", told<test_kv_special_chars_in_key>},
    {"test_kv_snapshot_empty", "Without keys a turn begins with none.", told<test_kv_snapshot_empty>},
    {"test_kv_snapshot_cross_execution", "A turn begins with what earlier executions set, not its own.",
     told<test_kv_snapshot_cross_execution>},
    {"test_kv_prune_current_execution_protected", "Pruning an instance with one execution changes nothing.",
     told<test_kv_prune_current_execution_protected>},
    {"test_kv_delete_instance_with_children", "Those of children go with the tree.",
     told<test_kv_delete_instance_with_children>},
    {"test_kv_clear_isolation", "A clear-all is confined to its instance.", told<test_kv_clear_isolation>},
    {"test_kv_delta_snapshot_excludes_current_execution", "Readers see a change at once, replay does not.",
     told<test_kv_delta_snapshot_excludes_current_execution>},
    {"test_kv_delta_snapshot_includes_completed_execution", "An execution that has ended is settled.",
     told<test_kv_delta_snapshot_includes_completed_execution>},
    {"test_kv_delta_client_reads_merged", "Readers see what is left of all executions.",
     told<test_kv_delta_client_reads_merged>},
    {"test_kv_delta_tombstone_overrides_store", "A clear hides what an earlier execution set.",
     told<test_kv_delta_tombstone_overrides_store>},
    {"test_kv_delta_clear_all_tombstones_store", "A clear-all hides them all.",
     told<test_kv_delta_clear_all_tombstones_store>},
    {"test_kv_delta_merged_on_completion", "What an instance left can be read after its end.",
     told<test_kv_delta_merged_on_completion>},
    {"test_kv_delta_merged_on_can", "All turns of an execution are settled with its end.",
     told<test_kv_delta_merged_on_can>},
    {"test_kv_delta_delete_instance_cascades", "Those of a running execution go by force.",
     told<test_kv_delta_delete_instance_cascades>},
    {"test_kv_delta_prune_untouched_key_survives", "A key that nobody touched for long survives pruning.",
     told<test_kv_delta_prune_untouched_key_survives>},
};

}  // namespace

std::span<const ConformanceCase> key_value_contract_cases() { return cases; }

}  // namespace duramen::inline v0::testing
