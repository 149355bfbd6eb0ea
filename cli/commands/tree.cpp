// duramen tree: an instance and everything below it.
#include "commands.hpp"
#include "text.hpp"
#include "values.hpp"

#include <map>

namespace duramen::cli {

namespace {

class Tree {
 public:
  explicit Tree(std::vector<InstanceInfo> instances) : instances_(std::move(instances)) {
    for (const InstanceInfo& info : instances_) {
      if (&info != &instances_.front() && info.parent) children_[info.parent->instance].push_back(&info);
    }
  }

  [[nodiscard]] Table table(TimePoint now) const {
    Table table;
    table.columns = {{.title = "INSTANCE", .may_shrink_to = 20},
                     {.title = "ORCHESTRATION", .may_shrink_to = 10},
                     {.title = "STATUS"},
                     {.title = "UPDATED", .right = true},
                     {.title = "SAYS", .may_shrink_to = 10, .optional = true}};
    add_rows(table, instances_.front(), "", "", now);
    return table;
  }

  [[nodiscard]] Json json() const { return json_of(instances_.front()); }
  [[nodiscard]] const std::vector<InstanceInfo>& instances() const { return instances_; }

 private:
  [[nodiscard]] std::vector<const InstanceInfo*> below(const InstanceInfo& info) const {
    const auto found = children_.find(info.instance);
    return found == children_.end() ? std::vector<const InstanceInfo*>{} : found->second;
  }

  void add_rows(Table& table, const InstanceInfo& info, const std::string& branch, const std::string& indent,
                TimePoint now) const {
    table.rows.push_back({branch + info.instance.value, code_of(info.name, info.version), status_cell(info),
                          ago(info.updated_at, now), info.custom_status.value_or("")});
    const auto children = below(info);
    for (const InstanceInfo* child : children) {
      const bool last = child == children.back();
      add_rows(table, *child, indent + (last ? "└─ " : "├─ "), indent + (last ? "   " : "│  "), now);
    }
  }

  [[nodiscard]] Json json_of(const InstanceInfo& info) const {
    JsonObject object;
    object.add("instance", to_json(info, false));
    object.add("children",
               json_array(below(info), [this](const InstanceInfo* child) { return json_of(*child); }));
    return object;
  }

  std::vector<InstanceInfo> instances_;  // parents before children
  std::map<InstanceId, std::vector<const InstanceInfo*>> children_;
};

}  // namespace

Result<Answer> run(Session& session, const TreeArguments& arguments) {
  Result<std::vector<InstanceInfo>> instances = session.client.get_instance_tree(arguments.instance);
  if (!instances) return instances.error();
  const Tree tree(*std::move(instances));
  Answer answer;
  answer.documents.push_back(tree.json());
  answer.page.emplace_back(tree.table(session.now()));
  for (const InstanceInfo& info : tree.instances()) leave_out_unreadable(answer, info);
  return answer;
}

}  // namespace duramen::cli
