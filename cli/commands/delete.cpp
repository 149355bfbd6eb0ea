// duramen delete: removes instances with everything below them.
#include "commands.hpp"
#include "selection.hpp"
#include "text.hpp"

namespace duramen::cli {

namespace {

struct DeleteOutcomes : DeleteReport {
  std::vector<InstanceId> not_found;
  std::vector<InstanceId> children;  ///< deleted only with their roots
};

Result<DeleteOutcomes> check_named(Session& session, const DeleteArguments& arguments) {
  DeleteOutcomes report;
  for (const InstanceId& id : arguments.which.ids) {
    Result<std::vector<InstanceInfo>> tree = session.client.get_instance_tree(id);
    if (!tree && tree.error().code == ErrorCode::not_found) {
      report.not_found.push_back(id);
    } else if (!tree) {
      return tree.error();
    } else if (tree->front().parent) {
      report.children.push_back(id);
    } else {
      report.matched.push_back(id);
      report.instances += tree->size();
    }
  }
  return report;
}

Result<void> delete_named(Session& session, const DeleteArguments& arguments, DeleteOutcomes& report) {
  report.instances = 0;
  for (const InstanceId& id : report.matched) {
    Result<DeleteResult> result = session.client.delete_instance(id, arguments.mode);
    if (!result && result.error().code == ErrorCode::conflict) {
      report.not_finished.push_back(id);
    } else if (!result && result.error().code == ErrorCode::not_found) {
      report.not_found.push_back(id);
    } else if (!result) {
      return result.error();
    } else {
      report.deleted.push_back(id);
      report.instances += result->instances;
      report.executions += result->executions;
      report.events += result->events;
      report.messages += result->messages;
    }
  }
  return {};
}

Answer answer_to_delete(const DeleteOutcomes& report, bool dry_run) {
  Answer answer;
  answer.documents.push_back(JsonObject()
                                 .add("dry_run", dry_run)
                                 .add("matched", json_array(report.matched))
                                 .add("deleted", json_array(report.deleted))
                                 .add("not_finished", json_array(report.not_finished))
                                 .add("not_found", json_array(report.not_found))
                                 .add("has_parent", json_array(report.children))
                                 .add("instances", report.instances)
                                 .add("executions", report.executions)
                                 .add("events", report.events)
                                 .add("messages", report.messages));
  const auto add_line = [&](const std::vector<InstanceId>& ids, const std::string& what) {
    if (!ids.empty()) answer.page.emplace_back(Text{what + ": " + some_of(ids)});
  };
  if (dry_run) {
    add_line(report.matched,
             "would delete " + count(report.matched.size(), "instance") + " with all below them");
  } else if (!report.deleted.empty()) {
    answer.page.emplace_back(
        Text{"deleted " + count(report.instances, "instance") + ", " + count(report.executions, "execution") +
             ", " + count(report.events, "event") + " and " + count(report.messages, "message")});
  }
  add_line(report.not_finished,
           "kept, because something in it has not ended (cancel it first, or use --force)");
  add_line(report.children, "kept, because it belongs to a parent and goes with the root of its tree");
  add_line(report.not_found, "there is no instance");
  if (report.matched.empty() && report.not_found.empty() && report.children.empty()) {
    answer.notes.emplace_back("no instance matches");
  }
  if (!report.not_finished.empty() || !report.children.empty()) answer.exit = ExitCode::no;
  if (!report.not_found.empty()) answer.exit = ExitCode::not_found;
  return answer;
}

}  // namespace

Result<Answer> run(Session& session, const DeleteArguments& arguments) {
  if (Result<void> ok = check_selection(arguments.which, "delete"); !ok) return ok.error();
  const bool named = !arguments.which.ids.empty();
  const auto by_filter = [&](bool dry_run) -> Result<DeleteOutcomes> {
    BulkOptions bulk = arguments.bulk;
    bulk.dry_run = dry_run;
    Result<DeleteReport> report =
        session.client.delete_instances(filter_of(arguments.which), arguments.mode, bulk);
    if (!report) return report.error();
    return DeleteOutcomes{*std::move(report), {}, {}};
  };
  Result<DeleteOutcomes> report = named ? check_named(session, arguments) : by_filter(true);
  if (!report) return report.error();
  if (arguments.bulk.dry_run || report->matched.empty())
    return answer_to_delete(*report, arguments.bulk.dry_run);

  Result<bool> sure =
      confirm(session.context, "Delete " + count(report->matched.size(), "instance") +
                                   " with all below them (" + some_of(report->matched) + ")?");
  if (!sure) return sure.error();
  if (!*sure) return left_alone();
  if (named) {
    if (Result<void> done = delete_named(session, arguments, *report); !done) return done.error();
  } else {
    report = by_filter(false);
    if (!report) return report.error();
  }
  return answer_to_delete(*report, false);
}

}  // namespace duramen::cli
