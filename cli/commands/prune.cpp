// duramen prune: removes old executions of instances that continue as new, never the current one.
#include "commands.hpp"
#include "selection.hpp"
#include "text.hpp"

namespace duramen::cli {

Result<Answer> run(Session& session, const PruneArguments& arguments) {
  if (Result<void> ok = check_selection(arguments.which, "prune"); !ok) return ok.error();
  if (!arguments.options.keep_last && !arguments.options.ended_before) {
    return Error{ErrorCode::invalid_argument, "prune",
                 "which executions? Give --keep-last N or --older-than TIME", false};
  }
  Selection which = arguments.which;
  if (!which.ids.empty()) {
    // A named instance must exist; a filter may match none.
    if (auto found = find_selected(session.client, which); !found) return found.error();
    which.filter.ids = which.ids;
  }
  const auto prune = [&](bool dry_run) {
    BulkOptions bulk = arguments.bulk;
    bulk.dry_run = dry_run;
    return session.client.prune_executions(filter_of(which), arguments.options, bulk);
  };
  const bool dry_run = arguments.bulk.dry_run;
  Result<PruneReport> report = prune(true);
  if (!report) return report.error();
  if (!dry_run && !report->matched.empty()) {
    Result<bool> sure =
        confirm(session.context, "Remove old executions of " + count(report->matched.size(), "instance") +
                                     " (" + some_of(report->matched) + ")?");
    if (!sure) return sure.error();
    if (!*sure) return left_alone();
    report = prune(false);
    if (!report) return report.error();
  }

  Answer answer;
  answer.documents.push_back(JsonObject()
                                 .add("dry_run", dry_run)
                                 .add("matched", json_array(report->matched))
                                 .add("executions", report->executions)
                                 .add("events", report->events));
  if (report->matched.empty()) {
    answer.notes.emplace_back("no instance matches");
  } else if (dry_run) {
    answer.page.emplace_back(
        Text{"would check " + count(report->matched.size(), "instance") + ": " + some_of(report->matched)});
  } else {
    answer.page.emplace_back(Text{"removed " + count(report->executions, "execution") + " and " +
                                  count(report->events, "event") + " of " +
                                  count(report->matched.size(), "instance")});
  }
  return answer;
}

}  // namespace duramen::cli
