// Tags: a worker fetches only activities that match its tag filter.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// Instance "a" with activities of these tags, numbered from 2; "" for none.
void with_tags(Driver& d, const std::vector<std::string>& tags) {
  d.running("a");
  std::vector<ActivityRequest> activities;
  for (const auto& tag : tags) activities.push_back(tag.empty() ? plain() : tagged(tag));
  d.schedule("a", activities);
}

std::string fetch_tagged(Driver& d, const TagFilter& filter, std::size_t limit = 16) {
  return numbers_of(d.fetch_activity_batch({.limit = limit, .tags = filter}).items);
}

void a_default_worker_fetches_only_untagged_activities(Driver& d) {
  with_tags(d, {"", "gpu", ""});
  d.check.equal(fetch_tagged(d, TagFilter::default_only()), "2 4", "untagged");
  d.check.equal(fetch_tagged(d, {}), "", "nothing else");
}

void a_worker_of_one_tag_fetches_only_that_tag(Driver& d) {
  with_tags(d, {"", "gpu", "cpu", "gpu"});
  d.check.equal(fetch_tagged(d, TagFilter::only({"gpu"})), "3 5", "of the tag");
  d.check.equal(fetch_tagged(d, TagFilter::only({"gpu"})), "", "nothing else");
}

void a_worker_may_fetch_one_tag_and_untagged_activities(Driver& d) {
  with_tags(d, {"", "gpu", "cpu"});
  d.check.equal(fetch_tagged(d, TagFilter::default_and({"gpu"})), "2 3", "both");
  d.check.equal(fetch_tagged(d, TagFilter::default_and({"gpu"})), "", "nothing else");
}

void the_none_filter_fetches_nothing(Driver& d) {
  with_tags(d, {"", "gpu"});
  d.check.equal(fetch_tagged(d, TagFilter::none()), "", "nothing");
  d.check.equal(fetch_tagged(d, TagFilter::any()), "2 3", "and nothing was leased");
}

void a_worker_may_fetch_several_tags(Driver& d) {
  with_tags(d, {"gpu", "tpu", "cpu", ""});
  d.check.equal(fetch_tagged(d, TagFilter::only({"gpu", "tpu"})), "2 3", "both");
  d.check.equal(fetch_tagged(d, TagFilter::only({"gpu", "tpu"})), "", "nothing else");
}

void a_fetched_activity_has_its_tag(Driver& d) {
  with_tags(d, {"gpu"});
  const auto items = d.fetch_activity_batch({.tags = TagFilter::only({"gpu"})}).items;
  d.check.that(items.size() == 1 && items[0].request.tag == "gpu" && items[0].request.name == "Act",
               "tag and name");
}

void the_any_filter_fetches_every_tag(Driver& d) {
  with_tags(d, {"", "gpu", "cpu"});
  d.check.equal(fetch_tagged(d, TagFilter::any()), "2 3 4", "all");
  d.check.equal(fetch_tagged(d, TagFilter::any()), "", "once");
}

void a_released_activity_keeps_its_tag(Driver& d) {
  with_tags(d, {"gpu", ""});
  const auto items = d.fetch_activity_batch({.tags = TagFilter::only({"gpu"})}).items;
  if (items.size() != 1) d.stop("an activity");
  d.release(items[0]);
  d.check.equal(fetch_tagged(d, {}), "3", "untagged");
  const auto again = d.fetch_activity_batch({.tags = TagFilter::only({"gpu"})}).items;
  if (again.size() != 1) d.stop("the same activity again");
  d.check.that(again[0].request.tag == "gpu" && again[0].attempt == 2, "tag and attempt");
  d.check.that(again[0].lease.token != items[0].lease.token, "a new token");
}

void workers_of_different_tags_do_not_share_activities(Driver& d) {
  with_tags(d, {"", "gpu", "cpu", "fpga", "gpu"});
  d.check.equal(fetch_tagged(d, {}), "2", "without tags");
  d.check.equal(fetch_tagged(d, TagFilter::only({"gpu", "cpu"}), 2), "3 4", "gpu and cpu, two of three");
  d.check.equal(fetch_tagged(d, TagFilter::only({"cpu", "fpga"})), "5", "cpu and fpga");
  d.check.equal(fetch_tagged(d, TagFilter::any()), "6", "the rest");
}

void a_commit_stores_the_tags_of_its_activities(Driver& d) {
  with_tags(d, {"gpu", ""});
  const auto untagged = d.fetch_activities();
  d.check.equal(numbers_of(untagged), "3", "untagged");
  for (const auto& item : untagged) d.ack(Driver::completion(item));
  d.check.that(untagged.size() == 1 && !untagged[0].request.tag, "no tag");
  const auto items = d.fetch_activity_batch({.tags = TagFilter::only({"gpu"})}).items;
  d.check.that(items.size() == 1 && items[0].request.tag == "gpu", "its tag");
}

void tags_are_compared_exactly(Driver& d) {
  const std::string odd = "it's \"odd\" % _ \xF0\x9F\x8C\xB3";
  with_tags(d, {"GPU", "gpu ", odd, "g%"});
  d.check.equal(fetch_tagged(d, TagFilter::only({"gpu"})), "", "neither case nor space is ignored");
  d.check.equal(fetch_tagged(d, TagFilter::only({"g_", "%"})), "", "nothing is a pattern");
  d.check.equal(fetch_tagged(d, TagFilter::only({odd})), "4", "odd text");
  d.check.equal(fetch_tagged(d, TagFilter::only({"GPU", "g%", "1", "2", "3"})), "2 5", "five tags");
}

void a_skipped_tag_does_not_count_against_the_limit(Driver& d) {
  std::vector<std::string> tags(40, "gpu");
  tags.push_back("");
  with_tags(d, tags);
  d.check.equal(fetch_tagged(d, {}, 1), "42", "the one behind forty others");
}

void a_second_attempt_of_another_tag_does_not_block_the_queue(Driver& d) {
  with_tags(d, {"gpu", ""});
  d.check.equal(fetch_tagged(d, TagFilter::only({"gpu"})), "2", "the one that crashed");
  d.advance(d.lease);
  d.check.equal(fetch_tagged(d, {}), "3", "the one behind it");
}

void next_due_ignores_activities_of_other_tags(Driver& d) {
  with_tags(d, {"gpu"});
  const auto items = d.fetch_activity_batch({.tags = TagFilter::only({"gpu"})}).items;
  if (items.size() != 1) d.stop("an activity");
  d.release(items[0], 10s);
  d.check.that(!d.fetch_activity_batch({}).next_due, "nothing is due for a worker without tags");
  d.expect_due(d.fetch_activity_batch({.tags = TagFilter::any()}).next_due, d.now() + 10s);
}

}  // namespace

std::span<const ConformanceCase> tag_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(a_default_worker_fetches_only_untagged_activities,
                   .reference = "test_default_only_fetches_untagged"),
      DURAMEN_CASE(a_worker_of_one_tag_fetches_only_that_tag, .reference = "test_tags_fetches_only_matching"),
      DURAMEN_CASE(a_worker_may_fetch_one_tag_and_untagged_activities,
                   .reference = "test_default_and_fetches_untagged_and_matching"),
      DURAMEN_CASE(the_none_filter_fetches_nothing, .reference = "test_none_filter_returns_nothing",
                   .difference = "that nothing was leased is also checked"),
      DURAMEN_CASE(a_worker_may_fetch_several_tags, .reference = "test_multi_tag_filter"),
      DURAMEN_CASE(a_fetched_activity_has_its_tag, .reference = "test_tag_round_trip_preservation"),
      DURAMEN_CASE(the_any_filter_fetches_every_tag, .reference = "test_any_filter_fetches_everything"),
      DURAMEN_CASE(a_released_activity_keeps_its_tag, .reference = "test_tag_survives_abandon_and_refetch"),
      DURAMEN_CASE(workers_of_different_tags_do_not_share_activities,
                   .reference = "test_multi_runtime_tag_isolation"),
      DURAMEN_CASE(a_commit_stores_the_tags_of_its_activities,
                   .reference = "test_tag_preserved_through_ack_orchestration_item"),
      DURAMEN_CASE(tags_are_compared_exactly),
      DURAMEN_CASE(a_skipped_tag_does_not_count_against_the_limit),
      DURAMEN_CASE(a_second_attempt_of_another_tag_does_not_block_the_queue),
      DURAMEN_CASE(next_due_ignores_activities_of_other_tags),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
