// duramen replay: checks that a module's code still replays recorded histories.
#include "commands.hpp"
#include "module.hpp"
#include "selection.hpp"
#include "store.hpp"
#include "text.hpp"
#include <duramen/replay_check.hpp>

#include <iostream>

namespace duramen::cli {

namespace {

std::string_view finding_name(ReplayFinding::Kind kind) {
  switch (kind) {
    case ReplayFinding::Kind::nondeterminism:
      return "nondeterminism";
    case ReplayFinding::Kind::no_code:
      return "no_code";
    case ReplayFinding::Kind::unreadable:
      return "unreadable";
    case ReplayFinding::Kind::tolerated:
      return "tolerated";
  }
  return "";
}

Result<ReplayReport> check_store(Context& context, const ReplayArguments& arguments, const Registry& registry,
                                 const ReplayCheckOptions& options) {
  Result<Store> store = open_store(context.globals.store, StoreAccess::existing);
  if (!store) {
    Error error = store.error();
    if (context.globals.store.empty())
      error.message = "which histories? Name a FILE that duramen export wrote, or --store";
    return error;
  }
  Client client{*store};
  Selection which = arguments.which;
  which.all = !which.filtered;
  Result<std::vector<InstanceId>> ids = find_selected(client, which);
  if (!ids) return ids.error();
  ReplayReport report;
  for (const InstanceId& id : *ids) {
    Result<RecordedInstance> recorded = client.export_instance(id);
    if (!recorded && recorded.error().code == ErrorCode::not_found) continue;  // deleted meanwhile
    if (!recorded && is_damage(recorded.error())) {
      ReplayReport unreadable;
      unreadable.instances = 1;
      unreadable.findings.push_back(
          {.kind = ReplayFinding::Kind::unreadable, .instance = id, .message = recorded.error().message});
      append(report, std::move(unreadable));
      continue;
    }
    if (!recorded) return recorded.error();
    append(report, check_replay(registry, *recorded, options));
  }
  return report;
}

Answer answer_to_replay(const ReplayReport& report) {
  Answer answer;
  answer.documents.push_back(
      JsonObject()
          .add("ok", report.ok())
          .add("instances", report.instances)
          .add("executions", report.executions)
          .add("events", report.events)
          .add("findings", json_array(report.findings, [](const ReplayFinding& finding) -> Json {
                 return JsonObject()
                     .add("kind", finding_name(finding.kind))
                     .add("instance_id", finding.instance.empty() ? Json() : Json(finding.instance))
                     .add("execution_id", finding.execution ? Json(finding.execution) : Json())
                     .add("orchestration_name", finding.orchestration)
                     .add("orchestration_version", finding.version)
                     .add("message", finding.message);
               })));
  answer.page.emplace_back(Text{report.text()});
  if (!report.ok()) answer.exit = ExitCode::no;
  return answer;
}

}  // namespace

Result<Answer> run(Context& context, const ReplayArguments& arguments) {
  Result<Registry> registry = load_module(arguments.module);
  if (!registry) return registry.error();
  const ReplayCheckOptions options{.tolerate_inputs = arguments.tolerate_inputs};
  if (arguments.files.empty()) {
    Result<ReplayReport> report = check_store(context, arguments, *registry, options);
    if (!report) return report.error();
    return answer_to_replay(*report);
  }
  ReplayReport report;
  for (const std::string& file : arguments.files) {
    append(report, file == "-" ? check_replay(*registry, std::cin, "standard input", options)
                               : check_replay_file(*registry, file, options));
  }
  return answer_to_replay(report);
}

}  // namespace duramen::cli
