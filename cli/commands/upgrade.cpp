// duramen upgrade: the engine version at which new executions begin, and the nodes that hold it back.
#include "commands.hpp"
#include "store.hpp"
#include "text.hpp"

namespace duramen::cli {

namespace {

std::string described(const NodeRecord& node) {
  return node.node.value + " (pid " + std::to_string(node.pid) + " on " + node.host + ", Duramen " +
         node.version + ", reads up to " + std::to_string(node.max_engine_version) + ")";
}

}  // namespace

Result<Answer> run(Session& session, const UpgradeArguments& arguments) {
  Result<std::optional<SchemaVersion>> schema = schema_version_of(session.provider());
  if (!schema) return schema.error();
  Result<std::uint32_t> before = session.provider().get_write_level();
  if (!before) return before.error();
  std::uint32_t level = *before;
  if (arguments.finish) {
    Result<WriteLevelRaise> raised = session.provider().raise_write_level(engine_version, node_live_within);
    if (!raised) return raised.error();
    level = raised->level;
  }
  Result<std::vector<NodeRecord>> nodes = session.provider().list_nodes();
  if (!nodes) return nodes.error();
  std::erase_if(*nodes, [now = session.now()](const NodeRecord& node) {
    return !node.is_live(now) || node.max_engine_version >= engine_version;
  });

  Answer answer;
  const std::string newest = std::to_string(engine_version);
  Fields fields;
  if (*schema) {
    fields.add("Schema version",
               std::to_string((*schema)->stored) + " (newest: " + std::to_string((*schema)->known) + ")");
  }
  fields.add("Write level", std::to_string(level) + " (newest: " + newest + ")");
  answer.page.emplace_back(std::move(fields));
  Items behind;
  for (const NodeRecord& node : *nodes)
    behind.items.push_back({{"reads less", Tone::warning}, described(node)});
  if (!behind.items.empty()) answer.page.emplace_back(std::move(behind));

  const bool finished = level >= engine_version;
  std::string verdict;
  if (level > engine_version) {
    verdict = "the store belongs to a newer Duramen than this program";
  } else if (finished) {
    verdict =
        level != *before ? "new executions begin at " + newest + " from now on" : "nothing is left to do";
  } else if (nodes->empty()) {
    verdict = "every live node reads " + newest + ": duramen upgrade --finish ends the upgrade";
  } else {
    verdict = "stop or upgrade these nodes first: they could not read what begins at " + newest;
  }
  answer.page.emplace_back(Text{verdict, Tone::strong});
  answer.documents.push_back(JsonObject()
                                 .add("schema_version", *schema ? Json((*schema)->stored) : Json())
                                 .add("known_schema_version", *schema ? Json((*schema)->known) : Json())
                                 .add("write_level", level)
                                 .add("newest", engine_version)
                                 .add("finished", finished)
                                 .add("held_back_by", json_array(*nodes, [](const NodeRecord& node) -> Json {
                                        return Json(node.node);
                                      })));
  if (arguments.finish && !finished) answer.exit = ExitCode::no;
  return answer;
}

}  // namespace duramen::cli
