// duramen list: instances that match, page by page.
#include "commands.hpp"
#include "text.hpp"
#include "values.hpp"

namespace duramen::cli {

namespace {

struct FoundInstances {
  std::vector<InstanceInfo> instances;
  Incarnation next;
};

Result<FoundInstances> find(Client& client, const ListArguments& arguments) {
  FoundInstances found;
  InstanceQuery query = arguments.query;
  while (true) {
    Result<InstancePage> page = client.list(query);
    if (!page) return page.error();
    for (InstanceInfo& info : page->instances) found.instances.push_back(std::move(info));
    found.next = page->next;
    if (!arguments.every_page || !page->next) return found;
    query.after = page->next;
  }
}

std::string result_of(const InstanceInfo& info) {
  if (info.failure) return failure_detail(info.status, *info.failure);
  if (info.output) return in_short(*info.output);
  return "";
}

Table table_of(const FoundInstances& found, TimePoint now, bool with_results) {
  Table table;
  table.columns = {{.title = "ID", .may_shrink_to = 16},
                   {.title = "ORCHESTRATION", .may_shrink_to = 10},
                   {.title = "STATUS"},
                   {.title = with_results ? "RESULT" : "SAYS", .may_shrink_to = 10, .optional = true},
                   {.title = "UPDATED", .right = true},
                   {.title = "EVENTS", .right = true, .optional = true},
                   {.title = "RUN", .right = true, .optional = true},
                   {.title = "CREATED", .optional = true}};
  for (const InstanceInfo& info : found.instances) {
    table.rows.push_back({info.instance.value, code_of(info.name, info.version), status_cell(info),
                          with_results ? result_of(info) : info.custom_status.value_or(""),
                          ago(info.updated_at, now), std::to_string(info.last_event_id.value),
                          std::to_string(info.execution.value), date_and_time(info.created_at)});
  }
  return table;
}

}  // namespace

Result<Answer> run(Session& session, const ListArguments& arguments) {
  Result<FoundInstances> found = find(session.client, arguments);
  if (!found) return found.error();
  Answer answer;
  JsonObject document;
  document.add("instances", json_array(found->instances, [&](const InstanceInfo& info) {
                 return to_json(info, arguments.query.with_results);
               }));
  document.add("next", found->next ? Json(found->next) : Json());
  answer.documents.push_back(document);
  for (const InstanceInfo& info : found->instances) leave_out_unreadable(answer, info);

  if (arguments.ids_only) {
    std::string lines;
    for (const InstanceInfo& info : found->instances) lines += printable(info.instance.value) + "\n";
    answer.page.emplace_back(Verbatim{std::move(lines)});
  } else if (!found->instances.empty()) {
    answer.page.emplace_back(table_of(*found, session.now(), arguments.query.with_results));
  }
  if (found->instances.empty()) answer.notes.emplace_back("no instance matches");
  if (found->next) {
    answer.notes.push_back("there are more: add --after " + std::to_string(found->next.value) + ", or --all");
  }
  return answer;
}

}  // namespace duramen::cli
