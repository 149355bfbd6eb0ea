// duramen nodes: the runtimes that work on the store.
#include "commands.hpp"
#include "text.hpp"
#include "values.hpp"

namespace duramen::cli {

namespace {

std::string orchestrations_of(const NodeRecord& node) {
  std::string text;
  for (const RegisteredOrchestration& orchestration : node.orchestrations) {
    text += (text.empty() ? "" : ", ") + orchestration.name;
    for (const std::string& version : orchestration.versions) text += " " + version;
  }
  return text;
}

std::string levels_of(const NodeRecord& node) {
  const std::uint32_t lowest = std::max(node.min_engine_version, 1u);
  const std::string highest = std::to_string(node.max_engine_version);
  return lowest >= node.max_engine_version ? highest : std::to_string(lowest) + "-" + highest;
}

Json document_of(const NodeRecord& node, bool live) {
  return JsonObject()
      .add("node", node.node)
      .add("live", live)
      .add("seen_at", node.seen_at)
      .add("started_at", node.started_at)
      .add("host", node.host)
      .add("pid", node.pid)
      .add("version", node.version)
      .add("build", node.build)
      .add("min_engine_version", node.min_engine_version)
      .add("max_engine_version", node.max_engine_version)
      .add("orchestrations", json_array(node.orchestrations,
                                        [](const RegisteredOrchestration& orchestration) -> Json {
                                          return JsonObject()
                                              .add("name", orchestration.name)
                                              .add("versions", json_array(orchestration.versions));
                                        }))
      .add("activities", json_array(node.activities))
      .add("untagged", node.tags.untagged)
      .add("every_tag", node.tags.every_tag)
      .add("tags", json_array(node.tags.tags))
      .add("capacity", node.capacity)
      .add("running", node.running)
      .add("resident", node.resident)
      .add("abandoned", node.abandoned);
}

}  // namespace

Result<Answer> run(Session& session, const NodesArguments& /*arguments*/) {
  Result<std::vector<NodeRecord>> nodes = session.provider().list_nodes();
  if (!nodes) return nodes.error();
  const TimePoint now = session.now();
  Answer answer;
  Table table;
  table.columns = {{.title = "NODE", .may_shrink_to = 16},
                   {.title = "SEEN", .right = true},
                   {.title = "HOST", .may_shrink_to = 8},
                   {.title = "PID", .right = true},
                   {.title = "VERSION"},
                   {.title = "LEVELS", .right = true},
                   {.title = "RUNNING", .right = true},
                   {.title = "ORCHESTRATIONS", .may_shrink_to = 14, .wraps = true}};
  for (const NodeRecord& node : *nodes) {
    const bool live = node.is_live(now);
    answer.documents.push_back(document_of(node, live));
    const Tone tone = live ? Tone::plain : Tone::faint;
    table.rows.push_back({{node.node.value, tone},
                          {ago(node.seen_at, now), live ? Tone::plain : Tone::warning},
                          {node.host, tone},
                          {std::to_string(node.pid), tone},
                          {node.version, tone},
                          {levels_of(node), tone},
                          {std::to_string(node.running) + "/" + std::to_string(node.capacity), tone},
                          {orchestrations_of(node), tone}});
  }
  if (nodes->empty()) {
    answer.notes.emplace_back("no runtime works on the store");
  } else {
    answer.page.emplace_back(std::move(table));
  }
  return answer;
}

}  // namespace duramen::cli
