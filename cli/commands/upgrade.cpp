// duramen upgrade: the engine version at which new executions begin, and the nodes that hold it back.
#include "commands.hpp"
#include "store.hpp"
#include "text.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>

namespace duramen::cli {

namespace {

std::string described(const NodeRecord& node) {
  return node.node.value + " (pid " + std::to_string(node.pid) + " on " + node.host + ", Duramen " +
         node.version + ", reads up to " + std::to_string(node.max_engine_version) + ")";
}

/// The live nodes among these that cannot read what this build begins.
std::vector<NodeId> behind(const std::vector<NodeRecord>& nodes, TimePoint now) {
  std::vector<NodeId> found;
  for (const NodeRecord& node : nodes)
    if (node.is_live(now) && node.max_engine_version < engine_version) found.push_back(node.node);
  return found;
}

/// The node in words. It may have left the list meanwhile.
std::string described(const NodeId& id, const std::vector<NodeRecord>& nodes) {
  const auto node = std::ranges::find(nodes, id, &NodeRecord::node);
  return node != nodes.end() ? described(*node) : id.value;
}

}  // namespace

Result<Answer> run(Session& session, const UpgradeArguments& arguments) {
  Result<std::optional<SchemaVersion>> schema = schema_version_of(session.provider());
  if (!schema) return schema.error();
  Result<std::uint32_t> before = session.provider().get_write_level();
  if (!before) return before.error();
  WriteLevelRaise raise{.level = *before};
  if (arguments.finish) {
    Result<WriteLevelRaise> raised = session.provider().raise_write_level(engine_version, node_live_within);
    if (!raised) return raised.error();
    raise = *std::move(raised);
  }
  Result<std::vector<NodeRecord>> nodes = session.provider().list_nodes();
  if (!nodes) return nodes.error();
  // The store's own answer counts: the list was read later, and may differ.
  const bool asked = arguments.finish && !duramen::detail::mutant("upgrade_ignores_the_answer");
  const std::vector<NodeId> blocking = asked ? raise.held_back_by : behind(*nodes, session.now());
  const std::uint32_t level = raise.level;

  Answer answer;
  const std::string newest = std::to_string(engine_version);
  Fields fields;
  if (*schema) {
    fields.add("Schema version",
               std::to_string((*schema)->stored) + " (newest: " + std::to_string((*schema)->known) + ")");
  }
  fields.add("Write level", std::to_string(level) + " (newest: " + newest + ")");
  answer.page.emplace_back(std::move(fields));
  Items items;
  for (const NodeId& node : blocking)
    items.items.push_back({{"reads less", Tone::warning}, described(node, *nodes)});
  if (!items.items.empty()) answer.page.emplace_back(std::move(items));

  const bool finished = level >= engine_version;
  std::string verdict;
  if (level > engine_version) {
    verdict = "the store belongs to a newer Duramen than this program";
  } else if (finished) {
    verdict =
        level != *before ? "new executions begin at " + newest + " from now on" : "nothing is left to do";
  } else if (blocking.empty()) {
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
                                 .add("held_back_by", json_array(blocking)));
  if (arguments.finish && !finished) answer.exit = ExitCode::no;
  return answer;
}

}  // namespace duramen::cli
