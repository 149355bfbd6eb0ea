#include "selection.hpp"

namespace duramen::cli {

Result<void> check_selection(const Selection& which, const std::string& command) {
  const auto wrong = [&](std::string what) {
    return Error{ErrorCode::invalid_argument, command, std::move(what), false};
  };
  if (!which.ids.empty() && (which.filtered || which.all)) {
    return wrong("name instances or give a filter, not both");
  }
  if (which.ids.empty() && !which.filtered && !which.all) {
    return wrong(
        "which instances? Name them, filter them (--status, --name, --prefix, ...), or "
        "--all");
  }
  return {};
}

InstanceFilter filter_of(const Selection& which) {
  InstanceFilter filter = which.filter;
  if (which.all && !filter.id_prefix) filter.id_prefix = "";
  return filter;
}

Result<std::vector<InstanceId>> find_selected(Client& client, const Selection& which) {
  if (!which.ids.empty()) {
    for (const InstanceId& id : which.ids) {
      const Result<InstanceInfo> info = client.get_instance(id);
      // An unreadable instance also exists.
      if (!info && info.error().code != ErrorCode::corrupt) return info.error();
    }
    return which.ids;
  }
  InstanceQuery query;
  query.filter = filter_of(which);
  query.order = InstanceOrder::oldest_first;
  query.limit = 500;
  std::vector<InstanceId> ids;
  Result<std::size_t> visited =
      client.for_each_instance(query, [&](const InstanceInfo& info) { ids.push_back(info.instance); });
  if (!visited) return visited.error();
  return ids;
}

}  // namespace duramen::cli
