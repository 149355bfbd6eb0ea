// duramen show: one instance, its executions and its pending work.
#include "commands.hpp"
#include "text.hpp"
#include "values.hpp"

namespace duramen::cli {

namespace {

struct ShownInstance {
  InstanceInfo info;
  std::vector<ExecutionInfo> executions;
  PendingWork pending;
  std::size_t keys = 0;
  /// The requesters of its start and of its cancel, if they gave their names.
  std::optional<std::string> started_by;
  std::optional<std::string> cancelled_by;
  /// The reason of that cancel, and whether no turn has taken it yet.
  std::optional<std::string> cancel_reason;
  bool cancel_queued = false;

  template <class Request>
  void take_cancel(const Request& request, bool queued) {
    cancelled_by = request.requested_by;
    cancel_reason = request.reason;
    cancel_queued = queued;
  }
};

/// From the histories of the first execution and of the current one, and a queued cancel from the queue.
/// `history` reports a history that cannot be read.
void read_requesters(Session& session, ShownInstance& found) {
  if (!found.executions.empty()) {
    const auto first = session.client.read_history(found.info.instance, found.executions.front().execution);
    if (first && !first->empty()) {
      if (const auto* started = std::get_if<event::OrchestrationStarted>(&first->front().body))
        found.started_by = started->requested_by;
    }
  }
  if (!found.info.cancel_asked && found.info.status != Status::cancelled &&
      found.info.status != Status::cancelling)
    return;
  const auto current = session.client.read_history(found.info.instance, found.info.execution);
  for (const Event& event : current ? *current : std::vector<Event>{}) {
    if (const auto* started = std::get_if<event::OrchestrationStarted>(&event.body);
        started && started->cancel)
      found.take_cancel(*started->cancel, false);
    if (const auto* cancel = std::get_if<event::OrchestrationCancelRequested>(&event.body))
      found.take_cancel(*cancel, false);
  }
  // A later one is stronger: the store keeps no other.
  for (const PendingMessage& message : found.pending.messages) {
    if (message.cancel) found.take_cancel(*message.cancel, true);
  }
}

Result<ShownInstance> read_instance(Session& session, const InstanceId& instance) {
  ShownInstance found;
  Result<InstanceInfo> info = session.client.get_instance(instance);
  if (!info && info.error().code == ErrorCode::corrupt) {
    // The readable part is at the top of its tree.
    Result<std::vector<InstanceInfo>> tree = session.client.get_instance_tree(instance);
    info = tree ? Result<InstanceInfo>{std::move(tree->front())} : Result<InstanceInfo>{tree.error()};
  }
  if (!info) return info.error();
  found.info = *std::move(info);
  Result<std::vector<ExecutionInfo>> executions = session.client.list_executions(instance);
  if (!executions) return executions.error();
  found.executions = *std::move(executions);
  Result<PendingWork> pending = session.provider().list_pending_work(instance);
  if (!pending) return pending.error();
  found.pending = *std::move(pending);
  Result<KeyValues> values = session.client.get_key_values(instance);
  if (!values) return values.error();
  found.keys = values->size();
  read_requesters(session, found);
  return found;
}

Fields fields_of(const ShownInstance& found, TimePoint now) {
  const InstanceInfo& info = found.info;
  Fields fields;
  fields.add("Instance", {info.instance.value, Tone::strong});
  fields.add("Orchestration", code_of(info.name, info.version));
  fields.add("Status", status_cell(info));
  if (info.custom_status) fields.add("Says", *info.custom_status);
  if (info.output) fields.add("Output", in_short(*info.output, 4000));
  if (info.failure && info.status == Status::cancelled) {
    const std::string why = failure_detail(info.status, *info.failure);
    if (!why.empty()) fields.add("Reason", why);
  } else if (info.failure) {
    fields.add("Failure", {info.failure->describe(), Tone::bad});
  }
  if (info.failure && !info.failure->type.empty()) fields.add("Failure type", info.failure->type);
  if (info.cancel_asked) {
    fields.add("Cancel asked", std::string(mode_name(*info.cancel_asked)) +
                                   (found.cancel_queued ? ", and no turn has taken the request yet" : ""));
  }
  if (found.cancelled_by) fields.add("Cancelled by", *found.cancelled_by);
  // The failure of a cancelled instance has the reason.
  if (found.cancel_reason && !found.cancel_reason->empty() && info.status != Status::cancelled)
    fields.add("Cancel reason", *found.cancel_reason);
  if (info.parent) fields.add("Parent", info.parent->instance.value);
  if (found.started_by) fields.add("Started by", *found.started_by);
  fields.add("Created", date_and_time(info.created_at) + " UTC (" + ago(info.created_at, now) + ")");
  const TimePoint last = info.ended_at.value_or(info.updated_at);
  fields.add(is_final(info.status) ? "Ended" : "Last turn",
             date_and_time(last) + " UTC (" + ago(last, now) + ")");
  fields.add("Execution",
             std::to_string(info.execution.value) + ", " + count(info.last_event_id.value, "event"));
  if (found.keys != 0) fields.add("Key-values", std::to_string(found.keys));
  if (found.pending.leased) fields.add("Turn", "a node works on it now");
  if (found.pending.attempt != 0)
    fields.add("Handed out", count(found.pending.attempt, "time") + " since its last turn");
  return fields;
}

Table executions_table(const std::vector<ExecutionInfo>& executions) {
  Table table;
  table.columns = {
      {.title = "EXECUTION", .right = true}, {.title = "STATUS"},  {.title = "VERSION"},
      {.title = "EVENTS", .right = true},    {.title = "STARTED"}, {.title = "ENDED", .optional = true}};
  for (const ExecutionInfo& e : executions) {
    table.rows.push_back({std::to_string(e.execution.value),
                          e.unreadable ? Cell{"unreadable", Tone::bad} : status_cell(e.status), e.version,
                          std::to_string(e.last_event_id.value), date_and_time(e.started_at),
                          e.ended_at ? date_and_time(*e.ended_at) : ""});
  }
  return table;
}

Table activities_table(const std::vector<PendingActivity>& activities, TimePoint now) {
  Table table;
  table.columns = {{.title = "ACTIVITY", .may_shrink_to = 12}, {.title = "EVENT", .right = true},
                   {.title = "STATE", .may_shrink_to = 12},    {.title = "HANDED OUT", .right = true},
                   {.title = "TAG", .optional = true},         {.title = "SESSION", .optional = true}};
  for (const PendingActivity& a : activities) {
    std::string state = !a.owner.empty()     ? "runs on " + a.owner.value
                        : a.visible_at > now ? "waits until " + date_and_time(a.visible_at)
                                             : "waits for a worker";
    table.rows.push_back({a.name, std::to_string(a.activity.value), std::move(state),
                          std::to_string(a.attempt), a.tag.value_or(""), a.session_id.value_or("")});
  }
  return table;
}

Table messages_table(const std::vector<PendingMessage>& messages, TimePoint now) {
  Table table;
  table.columns = {{.title = "MESSAGE", .may_shrink_to = 12}, {.title = "DUE"}};
  for (const PendingMessage& m : messages) {
    table.rows.push_back({m.unreadable ? Cell("cannot be read: " + *m.unreadable, Tone::bad) : Cell(m.type),
                          ago(m.visible_at, now)});
  }
  return table;
}

Json json_of(const ShownInstance& found) {
  JsonObject object;
  object.add("instance", to_json(found.info, true));
  object.add("executions", json_array(found.executions, [](const ExecutionInfo& e) -> Json {
               JsonObject execution;
               execution.add("execution_id", e.execution)
                   .add("status", e.unreadable ? Json() : Json(to_string(e.status)))
                   .add("orchestration_version", e.version)
                   .add("event_count", e.last_event_id)
                   .add("started_at", e.started_at)
                   .add("ended_at", e.ended_at);
               return execution;
             }));
  object.add("activities", json_array(found.pending.activities, [](const PendingActivity& a) -> Json {
               JsonObject activity;
               activity.add("execution_id", a.execution)
                   .add("event_id", a.activity)
                   .add("name", a.name)
                   .add("tag", a.tag)
                   .add("session_id", a.session_id)
                   .add("visible_at", a.visible_at)
                   .add("attempt", a.attempt)
                   .add("owner", a.owner.empty() ? Json() : Json(a.owner));
               return activity;
             }));
  object.add("messages", json_array(found.pending.messages, [](const PendingMessage& m) -> Json {
               JsonObject message;
               message.add("type", m.type).add("visible_at", m.visible_at).add("unreadable", m.unreadable);
               return message;
             }));
  object.add("leased", found.pending.leased)
      .add("attempt", found.pending.attempt)
      .add("key_values", found.keys)
      .add("started_by", found.started_by)
      .add("cancelled_by", found.cancelled_by)
      .add("cancel_reason", found.cancel_reason);
  return object;
}

}  // namespace

Result<Answer> run(Session& session, const ShowArguments& arguments) {
  Result<ShownInstance> found = read_instance(session, arguments.instance);
  if (!found) return found.error();
  const TimePoint now = session.now();
  Answer answer;
  answer.documents.push_back(json_of(*found));
  leave_out_unreadable(answer, found->info);
  for (const ExecutionInfo& execution : found->executions) {
    if (!execution.unreadable || execution.execution == found->info.execution) continue;
    answer.leave_out("execution " + std::to_string(execution.execution.value) +
                     " cannot be read: " + *execution.unreadable);
  }
  answer.page.emplace_back(fields_of(*found, now));
  if (found->executions.size() > 1) answer.page.emplace_back(executions_table(found->executions));
  if (!found->pending.activities.empty()) {
    answer.page.emplace_back(activities_table(found->pending.activities, now));
  }
  if (!found->pending.messages.empty())
    answer.page.emplace_back(messages_table(found->pending.messages, now));
  return answer;
}

}  // namespace duramen::cli
