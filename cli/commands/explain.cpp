// duramen explain: the waits of an instance, why it is stuck, and the reasons of cancellations.
#include "commands.hpp"
#include "text.hpp"
#include <duramen/detail/mutant.hpp>

namespace duramen::cli {

namespace {

Json json_of(const Waiting& wait) {
  JsonObject object;
  object.add("kind", to_string(wait.kind))
      .add("event_id", wait.event)
      .add("name", wait.name)
      .add("since", wait.since)
      .add("due", wait.due);
  if (wait.kind == Waiting::Kind::activity) {
    object.add("tag", wait.tag)
        .add("session_id", wait.session)
        .add("node", wait.node.empty() ? Json() : Json(wait.node))
        .add("attempt", wait.attempt);
  }
  if (wait.kind == Waiting::Kind::child) {
    object.add("child_instance_id", wait.child)
        .add("child_status", wait.child_status ? Json(to_string(*wait.child_status)) : Json());
  }
  return object.add("text", wait.text);
}

Json json_of(const CancelRequest& request) {
  JsonObject object;
  object.add("reason", request.reason)
      .add("mode", mode_name(request.mode))
      .add("by", request.by == CancelOrigin::client ? "client" : "parent")
      .add("requested_by", request.requested_by)
      .add("parent_instance_id", request.parent)
      .add("at", request.at);
  return object;
}

Json json_of(const Explanation& e) {
  JsonObject object;
  object.add("instance", to_json(e.info, true))
      .add("status_text", e.status)
      .add("waits", json_array(e.waits, [](const Waiting& wait) { return json_of(wait); }))
      .add("stuck", e.stuck)
      .add("findings", json_array(e.findings,
                                  [](const Explanation::Finding& finding) -> Json {
                                    return JsonObject()
                                        .add("kind", to_string(finding.kind))
                                        .add("instance_id", finding.instance)
                                        .add("text", finding.text);
                                  }))
      .add("cancel_request", e.cancel_request ? json_of(*e.cancel_request) : Json())
      .add("queued_cancel", e.queued_cancel ? json_of(*e.queued_cancel) : Json())
      .add("cancelled", json_array(e.cancelled, [](const CancelledStep& step) -> Json {
             JsonObject cancelled;
             cancelled.add("kind", to_string(step.kind))
                 .add("event_id", step.event)
                 .add("name", step.name)
                 .add("reason", to_string(step.reason))
                 .add("at", step.at);
             return cancelled;
           }));
  return object;
}

}  // namespace

Result<Answer> run(Session& session, const ExplainArguments& arguments) {
  Answer answer;
  for (const InstanceId& instance : arguments.instances) {
    Result<Explanation> explanation = session.client.explain(instance, arguments.options);
    if (!explanation && explanation.error().code == ErrorCode::not_found &&
        !detail::mutant("explain_stops_at_an_unknown_id")) {
      answer.left_out.push_back(explanation.error().message);
      answer.exit = ExitCode::not_found;
      continue;
    }
    if (!explanation) return explanation.error();
    answer.documents.push_back(json_of(*explanation));
    answer.page.emplace_back(Text{explanation->text});
  }
  return answer;
}

}  // namespace duramen::cli
