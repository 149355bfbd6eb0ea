// duramen cancel: asks instances to end, by id or by filter.
#include "commands.hpp"
#include "selection.hpp"
#include "text.hpp"

#include <algorithm>

namespace duramen::cli {

namespace {

struct CancelOutcome : CancelReport {
  std::vector<InstanceId> not_found;
};

/// The first request, which counts: "by ann: no longer needed". Empty if it cannot be read any more.
std::string first_request(Session& session, const InstanceId& id) {
  const Result<Explanation> found = session.client.explain(id);
  if (!found) return "";
  const std::optional<CancelRequest>& first =
      found->queued_cancel ? found->queued_cancel : found->cancel_request;
  if (!first) return "";
  std::string text =
      " by " + first->requested_by.value_or(first->by == CancelOrigin::parent ? "its parent" : "a client");
  return first->reason.empty() ? text : text + ": " + first->reason;
}

Result<CancelOutcome> cancel_named(Session& session, const CancelArguments& arguments) {
  CancelOutcome report;
  for (const InstanceId& id : arguments.which.ids) {
    Result<CancelAnswer> asked = CancelAnswer{};
    if (arguments.bulk.dry_run) {
      Result<InstanceInfo> info = session.client.get_instance(id);
      if (info)
        asked->ended = is_final(info->status);
      else
        asked = info.error();
    } else {
      asked = session.client.cancel(id, arguments.reason, arguments.mode);
    }
    if (!asked && asked.error().code == ErrorCode::not_found) {
      report.not_found.push_back(id);
      continue;
    }
    if (!asked) return asked.error();
    report.matched.push_back(id);
    if (asked->ended)
      report.already_finished.push_back(id);
    else if (asked->repeated)
      report.already_requested.push_back(id);
    else if (!arguments.bulk.dry_run)
      report.requested.push_back(id);
  }
  return report;
}

Answer answer_to_cancel(Session& session, const CancelOutcome& report, bool dry_run) {
  Answer answer;
  answer.documents.push_back(JsonObject()
                                 .add("dry_run", dry_run)
                                 .add("matched", json_array(report.matched))
                                 .add("requested", json_array(report.requested))
                                 .add("already_requested", json_array(report.already_requested))
                                 .add("already_finished", json_array(report.already_finished))
                                 .add("not_found", json_array(report.not_found)));
  const auto add_line = [&](const std::vector<InstanceId>& ids, const std::string& what) {
    if (!ids.empty()) answer.page.emplace_back(Text{what + ": " + some_of(ids)});
  };
  if (dry_run) {
    std::vector<InstanceId> would;
    for (const InstanceId& id : report.matched) {
      if (std::find(report.already_finished.begin(), report.already_finished.end(), id) ==
          report.already_finished.end()) {
        would.push_back(id);
      }
    }
    answer.page.emplace_back(Text{"would ask " + count(would.size(), "instance") + " to end" +
                                  (would.empty() ? "" : ": " + some_of(would))});
  }
  add_line(report.requested, "asked " + count(report.requested.size(), "instance") + " to end");
  constexpr std::size_t named_one_by_one = 5;
  if (report.already_requested.size() > named_one_by_one) {
    add_line(report.already_requested, "was already asked to stop");
  } else {
    for (const InstanceId& id : report.already_requested)
      answer.page.emplace_back(Text{id.value + " was already asked to stop" + first_request(session, id)});
  }
  add_line(report.already_finished, "had ended before");
  add_line(report.not_found, "there is no instance");
  if (report.matched.empty() && report.not_found.empty() && !dry_run)
    answer.notes.emplace_back("no instance matches");
  if (!report.not_found.empty()) {
    answer.exit = ExitCode::not_found;
  } else if (report.requested.empty() && report.already_requested.empty() && !dry_run &&
             !report.already_finished.empty()) {
    answer.exit = ExitCode::no;
  }
  return answer;
}

}  // namespace

Result<Answer> run(Session& session, const CancelArguments& arguments) {
  if (Result<void> ok = check_selection(arguments.which, "cancel"); !ok) return ok.error();
  const bool dry_run = arguments.bulk.dry_run;
  if (!arguments.which.ids.empty()) {
    Result<CancelOutcome> report = cancel_named(session, arguments);
    if (!report) return report.error();
    return answer_to_cancel(session, *report, dry_run);
  }
  const auto cancel = [&](bool only_look) {
    BulkOptions bulk = arguments.bulk;
    bulk.dry_run = only_look;
    return session.client.cancel_instances(filter_of(arguments.which), arguments.reason, arguments.mode,
                                           bulk);
  };
  Result<CancelReport> report = cancel(true);
  if (!report) return report.error();
  if (!dry_run && !report->matched.empty()) {
    Result<bool> sure = confirm(session.context, "Cancel " + count(report->matched.size(), "instance") +
                                                     " (" + some_of(report->matched) + ")?");
    if (!sure) return sure.error();
    if (!*sure) return left_alone();
    report = cancel(false);
    if (!report) return report.error();
  }
  return answer_to_cancel(session, CancelOutcome{*std::move(report), {}}, dry_run);
}

}  // namespace duramen::cli
