// The cases of the reference suite that do not exist here, and why.
#include <duramen/testing/conformance.hpp>

namespace duramen::inline v0::testing {
namespace {

constexpr std::string_view damaged_rows =
    "each store damages rows in its own way, so its own tests do it (SQLite: "
    "`tests/providers/sqlite/unreadable_test.cpp`)";
constexpr std::string_view no_long_poll =
    "a fetch never waits and has no timeout: push wakes waiters (`push_reports_…`)";
constexpr std::string_view no_state_in_queue =
    "the activity queue does not return the state of an orchestration: a cancelled activity has no row";

}  // namespace

std::span<const OmittedReferenceCase> omitted_reference_cases() {
  static constexpr OmittedReferenceCase cases[] = {
      {.reference = "test_corrupted_serialization_data", .why = damaged_rows},
      {.reference = "test_short_poll_returns_immediately", .why = no_long_poll},
      {.reference = "test_long_poll_waits_for_timeout", .why = no_long_poll},
      {.reference = "test_fetch_respects_timeout_upper_bound", .why = no_long_poll},
      {.reference = "test_short_poll_work_item_returns_immediately", .why = no_long_poll},
      {.reference = "test_long_poll_work_item_waits_for_timeout", .why = no_long_poll},
      {.reference = "test_fetch_returns_running_state_for_active_orchestration", .why = no_state_in_queue},
      {.reference = "test_fetch_returns_terminal_state_when_orchestration_completed",
       .why = no_state_in_queue},
      {.reference = "test_fetch_returns_terminal_state_when_orchestration_failed", .why = no_state_in_queue},
      {.reference = "test_fetch_returns_terminal_state_when_orchestration_continued_as_new",
       .why = no_state_in_queue},
      {.reference = "test_fetch_returns_missing_state_when_instance_deleted", .why = no_state_in_queue},
      {.reference = "test_renew_returns_running_when_orchestration_active", .why = no_state_in_queue},
      {.reference = "test_renew_returns_terminal_when_orchestration_completed", .why = no_state_in_queue},
      {.reference = "test_renew_returns_missing_when_instance_deleted", .why = no_state_in_queue},
      {.reference = "test_fetch_corrupted_history_filtered_vs_unfiltered",
       .why = "each store damages rows in its own way, so its own tests do it (SQLite: "
              "`tests/providers/sqlite/unreadable_test.cpp`); a fetch reads no history"},
      {.reference = "test_fetch_deserialization_error_increments_attempt_count", .why = damaged_rows},
      {.reference = "test_fetch_deserialization_error_eventually_reaches_poison", .why = damaged_rows},
      {.reference = "test_fetch_filter_applied_before_history_deserialization",
       .why = "a fetch reads no history"},
      {.reference = "test_fetch_single_range_only_uses_first_range", .why = "there is only one range"},
      {.reference = "test_ack_appends_event_to_corrupted_history", .why = damaged_rows},
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
