#include "providers/common/node_json.hpp"

#include "base/json_writer.hpp"
#include "base/name_check.hpp"
#include "base/object_reader.hpp"
#include <duramen/detail/json_value.hpp>
#include <duramen/limits.hpp>

namespace duramen::inline v0::providers {

namespace {

void write_texts(base::JsonWriter& json, std::string_view name, const std::vector<std::string>& texts) {
  json.key(name);
  json.begin_array();
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

std::vector<std::string> read_texts(const base::ObjectReader& object, std::string_view name) {
  std::vector<std::string> texts;
  const auto list = object.find(name);
  if (!list || list->kind() != detail::JsonKind::array) return texts;
  for (detail::JsonCursor c{*list}; c.next();) {
    if (const auto text = c.value().string()) texts.emplace_back(*text);
  }
  return texts;
}

}  // namespace

Result<void> check_node_id(const NodeId& node) {
  const auto problem = base::name_problem("a node id", node.value, max_node_bytes);
  if (!problem) return {};
  const bool too_long = problem->kind == base::NameProblem::Kind::too_long;
  return Error{too_long ? ErrorCode::limit_exceeded : ErrorCode::invalid_argument, "write_node",
               problem->message, false};
}

std::string node_json(const NodeRecord& record) {
  std::string text;
  base::JsonWriter json{text};
  json.begin_object();
  json.field("host", record.host);
  json.field("pid", record.pid);
  json.field("version", record.version);
  json.field("build", record.build);
  json.key("orchestrations");
  json.begin_array();
  for (const RegisteredOrchestration& orchestration : record.orchestrations) {
    json.begin_object();
    json.field("name", orchestration.name);
    write_texts(json, "versions", orchestration.versions);
    json.end_object();
  }
  json.end_array();
  write_texts(json, "activities", record.activities);
  json.field("untagged", record.tags.untagged);
  json.field("every_tag", record.tags.every_tag);
  write_texts(json, "tags", record.tags.tags);
  json.field("capacity", record.capacity);
  json.field("running", record.running);
  json.field("resident", record.resident);
  json.field("abandoned", record.abandoned);
  json.field("started_at", to_unix_ms(record.started_at));
  json.end_object();
  return text;
}

void read_node_json(std::string_view json, NodeRecord& record) {
  const detail::JsonDocument document{json};
  if (!document.error().empty()) return;
  std::string problem;
  base::ObjectReader object{document.root(), problem};
  object.optional("host", record.host);
  object.optional("pid", record.pid);
  object.optional("version", record.version);
  object.optional("build", record.build);
  if (const auto list = object.find("orchestrations"); list && list->kind() == detail::JsonKind::array) {
    for (detail::JsonCursor c{*list}; c.next();) {
      const base::ObjectReader entry{c.value(), problem};
      if (const auto name = entry.find("name"); name && name->string())
        record.orchestrations.push_back({std::string(*name->string()), read_texts(entry, "versions")});
    }
  }
  record.activities = read_texts(object, "activities");
  object.optional("untagged", record.tags.untagged);
  object.optional("every_tag", record.tags.every_tag);
  record.tags.tags = read_texts(object, "tags");
  object.optional("capacity", record.capacity);
  object.optional("running", record.running);
  object.optional("resident", record.resident);
  object.optional("abandoned", record.abandoned);
  std::int64_t started = 0;
  if (object.optional("started_at", started)) record.started_at = from_unix_ms(started);
}

}  // namespace duramen::inline v0::providers
