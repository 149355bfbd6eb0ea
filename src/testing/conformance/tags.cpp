// Tags: a worker takes the activities it said it would take.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// Instance "a" with activities of these tags, numbered from 2; "" for none.
void with_work(Driver& d, const std::vector<std::string>& tags) {
  d.running("a");
  std::vector<ActivityRequest> activities;
  for (const auto& tag : tags) activities.push_back(tag.empty() ? plain() : tagged(tag));
  d.schedule("a", activities);
}

std::string take(Driver& d, const TagFilter& filter, std::size_t limit = 16) {
  return numbers_of(d.fetch_work_batch({.limit = limit, .tags = filter}).items);
}

void test_default_only_fetches_untagged(Driver& d) {
  with_work(d, {"", "gpu", ""});
  d.check.equal(take(d, TagFilter::default_only()), "2 4", "untagged");
  d.check.equal(take(d, {}), "", "nothing else");
}

void test_tags_fetches_only_matching(Driver& d) {
  with_work(d, {"", "gpu", "cpu", "gpu"});
  d.check.equal(take(d, TagFilter::only({"gpu"})), "3 5", "of the tag");
  d.check.equal(take(d, TagFilter::only({"gpu"})), "", "nothing else");
}

void test_default_and_fetches_untagged_and_matching(Driver& d) {
  with_work(d, {"", "gpu", "cpu"});
  d.check.equal(take(d, TagFilter::default_and({"gpu"})), "2 3", "both");
  d.check.equal(take(d, TagFilter::default_and({"gpu"})), "", "nothing else");
}

void test_none_filter_returns_nothing(Driver& d) {
  with_work(d, {"", "gpu"});
  d.check.equal(take(d, TagFilter::none()), "", "nothing");
  d.check.equal(take(d, TagFilter::any()), "2 3", "and nothing was leased");
}

void test_multi_tag_filter(Driver& d) {
  with_work(d, {"gpu", "tpu", "cpu", ""});
  d.check.equal(take(d, TagFilter::only({"gpu", "tpu"})), "2 3", "both");
  d.check.equal(take(d, TagFilter::only({"gpu", "tpu"})), "", "nothing else");
}

void test_tag_round_trip_preservation(Driver& d) {
  with_work(d, {"gpu"});
  const auto items = d.fetch_work_batch({.tags = TagFilter::only({"gpu"})}).items;
  d.check.that(items.size() == 1 && items[0].request.tag == "gpu" && items[0].request.name == "Act",
               "tag and name");
}

void test_any_filter_fetches_everything(Driver& d) {
  with_work(d, {"", "gpu", "cpu"});
  d.check.equal(take(d, TagFilter::any()), "2 3 4", "all");
  d.check.equal(take(d, TagFilter::any()), "", "once");
}

void test_tag_survives_abandon_and_refetch(Driver& d) {
  with_work(d, {"gpu", ""});
  const auto items = d.fetch_work_batch({.tags = TagFilter::only({"gpu"})}).items;
  if (items.size() != 1) d.stop("an activity");
  d.abandon(items[0]);
  d.check.equal(take(d, {}), "3", "untagged");
  const auto again = d.fetch_work_batch({.tags = TagFilter::only({"gpu"})}).items;
  if (again.size() != 1) d.stop("the same activity again");
  d.check.that(again[0].request.tag == "gpu" && again[0].attempt == 2, "tag and attempt");
  d.check.that(again[0].lease.token != items[0].lease.token, "a new token");
}

void test_multi_runtime_tag_isolation(Driver& d) {
  with_work(d, {"", "gpu", "cpu", "fpga", "gpu"});
  d.check.equal(take(d, {}), "2", "without tags");
  d.check.equal(take(d, TagFilter::only({"gpu", "cpu"}), 2), "3 4", "gpu and cpu, two of three");
  d.check.equal(take(d, TagFilter::only({"cpu", "fpga"})), "5", "cpu and fpga");
  d.check.equal(take(d, TagFilter::any()), "6", "what is left");
}

void test_tag_preserved_through_ack_orchestration_item(Driver& d) {
  with_work(d, {"gpu", ""});
  const auto untagged = d.fetch_work();
  d.check.equal(numbers_of(untagged), "3", "untagged");
  for (const auto& item : untagged) d.ack(Driver::completion(item));
  d.check.that(untagged.size() == 1 && !untagged[0].request.tag, "no tag");
  const auto items = d.fetch_work_batch({.tags = TagFilter::only({"gpu"})}).items;
  d.check.that(items.size() == 1 && items[0].request.tag == "gpu", "its tag");
}

void tags_are_told_apart_exactly(Driver& d) {
  const std::string odd = "it's \"odd\" % _ \xF0\x9F\x8C\xB3";
  with_work(d, {"GPU", "gpu ", odd, "g%"});
  d.check.equal(take(d, TagFilter::only({"gpu"})), "", "neither case nor space is ignored");
  d.check.equal(take(d, TagFilter::only({"g_", "%"})), "", "nothing is a pattern");
  d.check.equal(take(d, TagFilter::only({odd})), "4", "odd text");
  d.check.equal(take(d, TagFilter::only({"GPU", "g%", "1", "2", "3"})), "2 5", "five tags");
}

void a_skipped_tag_fills_no_limit(Driver& d) {
  std::vector<std::string> tags(40, "gpu");
  tags.push_back("");
  with_work(d, tags);
  d.check.equal(take(d, {}, 1), "42", "the one behind forty others");
}

void a_second_attempt_of_another_tag_blocks_nobody(Driver& d) {
  with_work(d, {"gpu", ""});
  d.check.equal(take(d, TagFilter::only({"gpu"})), "2", "the one that crashed");
  d.advance(d.lease);
  d.check.equal(take(d, {}), "3", "the one behind it");
}

void only_wanted_work_is_due(Driver& d) {
  with_work(d, {"gpu"});
  const auto items = d.fetch_work_batch({.tags = TagFilter::only({"gpu"})}).items;
  if (items.size() != 1) d.stop("an activity");
  d.abandon(items[0], 10s);
  d.check.that(!d.fetch_work_batch({}).next_due, "nothing is due for those who take no tag");
  d.expect_due(d.fetch_work_batch({.tags = TagFilter::any()}).next_due, d.now() + 10s);
}

constexpr ConformanceCase cases[] = {
    {"test_default_only_fetches_untagged", "By default a worker takes what has no tag.",
     told<test_default_only_fetches_untagged>},
    {"test_tags_fetches_only_matching", "A worker of one tag takes that one only.",
     told<test_tags_fetches_only_matching>},
    {"test_default_and_fetches_untagged_and_matching", "A worker may take a tag and what has none.",
     told<test_default_and_fetches_untagged_and_matching>},
    {"test_none_filter_returns_nothing", "A worker that takes nothing is given nothing.",
     told<test_none_filter_returns_nothing>},
    {"test_multi_tag_filter", "A worker may take several tags.", told<test_multi_tag_filter>},
    {"test_tag_round_trip_preservation", "An activity carries its tag.",
     told<test_tag_round_trip_preservation>},
    {"test_any_filter_fetches_everything", "A worker may take everything.",
     told<test_any_filter_fetches_everything>},
    {"test_tag_survives_abandon_and_refetch", "What is given back keeps its tag.",
     told<test_tag_survives_abandon_and_refetch>},
    {"test_multi_runtime_tag_isolation", "Workers of different tags do not take each other's work.",
     told<test_multi_runtime_tag_isolation>},
    {"test_tag_preserved_through_ack_orchestration_item", "A turn's activities have the tags it gave them.",
     told<test_tag_preserved_through_ack_orchestration_item>},
    {"tags_are_told_apart_exactly", "A tag is any text, and only itself.", told<tags_are_told_apart_exactly>},
    {"a_skipped_tag_fills_no_limit", "What is skipped does not count against the limit.",
     told<a_skipped_tag_fills_no_limit>},
    {"a_second_attempt_of_another_tag_blocks_nobody", "Work one does not take is not waited for.",
     told<a_second_attempt_of_another_tag_blocks_nobody>},
    {"only_wanted_work_is_due", "A fetch does not say when to come for work one does not take.",
     told<only_wanted_work_is_due>},
};

}  // namespace

std::span<const ConformanceCase> tag_cases() { return cases; }

}  // namespace duramen::inline v0::testing
