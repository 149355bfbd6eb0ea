// Former defects of the schema's functions, see <duramen/detail/mutant.hpp>: the builds of the tests can
// create a schema with one of them.
#pragma once

#include "providers/postgres/schema.hpp"
#include <duramen/detail/mutant.hpp>

#ifdef DURAMEN_MUTANTS
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>
#endif

namespace duramen::inline v0::postgres::detail {

#ifdef DURAMEN_MUTANTS

struct SchemaMutant {
  std::string_view name;
  std::string_view text;  ///< it occurs once in all files
  std::string_view instead;
};

inline constexpr SchemaMutant schema_mutants[] = {
    {"a_cancelled_entry_keeps_its_number",
     "CASE WHEN q.ready_no IS NULL OR q.capability = e.capability THEN q.ready_no ELSE nextval('places') END",
     "q.ready_no"},
    {"children_are_created_after_the_turns", "ORDER BY 2, a.entry NULLS FIRST, 1",
     "ORDER BY a.entry NULLS FIRST, 2"},
    {"sessions_are_locked_before_children", "    IF true = ANY (v_failed_acks) THEN",
     "    PERFORM use_sessions(v_lease_now, v_sessions);\n    IF true = ANY (v_failed_acks) THEN"},
    {"a_leased_instance_is_put_off", "AND q.ready_no IS NOT NULL\n        AND (SELECT", "AND (SELECT"},
    {"the_capability_is_read_before_the_lock", "AND e.capability = ANY (v_caps) ", ""},
    {"a_last_turn_forgets_the_queued_cancel", "v_final[m.turn] AND i.cancel_place IS NOT NULL;",
     "v_final[m.turn] AND false;"},
    {"an_unknown_schema_is_leased_from",
     "  -- A process that does not know the schema leases nothing.\n  IF o_works_with > p_knows THEN",
     "  IF false THEN"},
    {"instances_that_were_held_wait_for_the_poll", "WHEN v_full THEN v_now WHEN v_passed THEN v_now + 20 END",
     "WHEN false THEN v_now END"},
    {"activities_that_were_held_wait_for_the_poll",
     "WHEN cardinality(v_seen) > coalesce(cardinality(v_tids), 0) THEN v_now + 20 END", "END"},
    {"instances_made_ready_are_not_announced", "NOT v_woken <@ coalesce(v_taken, '{}')", "false"},
    {"activities_made_available_are_not_announced", "o_left_ready := v_woken <> '{}'",
     "o_left_ready := false"},
    {"a_held_activity_hides_the_sessions_behind_it",
     "      IF cardinality(v_tids) > 0 THEN\n        v_sessions := v_sessions[1:1];\n        EXIT;",
     "      v_sessions := v_sessions[1:1];\n      IF cardinality(v_tids) > 0 THEN\n        EXIT;"},
    {"only_a_part_of_parked_mail_moves",
     "PERFORM put_messages(p_now, v_keys, v_sent, NULL, v_items);\n  END LOOP",
     "PERFORM put_messages(p_now, v_keys, v_sent, NULL, v_items);\n    EXIT;\n  END LOOP"},
    {"a_node_reports_past_a_raise", "  PERFORM 1 FROM settings s WHERE s.name = 'write_level' FOR SHARE;\n",
     ""},
    {"the_first_place_is_handed_out_twice", "SELECT nextval('places');", ""},
};

/// The migrations with the chosen defect, if it is one of the schema.
[[nodiscard]] inline std::span<const Migration> with_mutant(std::span<const Migration> all) {
  for (const SchemaMutant& chosen : schema_mutants) {
    if (!duramen::detail::mutant(chosen.name)) continue;
    static const auto changed = [&] {
      struct {
        std::deque<std::string> texts;
        std::deque<std::vector<std::string_view>> files;
        std::vector<Migration> migrations;
      } copy;
      std::size_t found = 0;
      for (const Migration& migration : all) {
        auto& files = copy.files.emplace_back();
        for (const std::string_view file : migration.files) {
          std::string& text = copy.texts.emplace_back(file);
          for (std::size_t at = text.find(chosen.text); at != std::string::npos;
               at = text.find(chosen.text, at + chosen.instead.size()), ++found)
            text.replace(at, chosen.text.size(), chosen.instead);
          files.emplace_back(text);
        }
        copy.migrations.push_back({files, migration.works_with});
      }
      if (found != 1) std::abort();
      return copy;
    }();
    return changed.migrations;
  }
  return all;
}

#else

[[nodiscard]] constexpr std::span<const Migration> with_mutant(std::span<const Migration> all) { return all; }

#endif

}  // namespace duramen::inline v0::postgres::detail
