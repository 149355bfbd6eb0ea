#include <duramen/provider.hpp>

#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <string>

namespace duramen::inline v0 {

bool TagFilter::accepts(const std::optional<std::string>& tag) const {
  if (!tag) return untagged;
  return every_tag || std::ranges::find(tags, *tag) != tags.end();
}

bool NodeRecord::runs(std::string_view orchestration, std::string_view with_version) const {
  return std::ranges::any_of(orchestrations, [&](const RegisteredOrchestration& registered) {
    return registered.name == orchestration &&
           (with_version.empty() || registered.versions.empty() ||
            std::ranges::find(registered.versions, with_version) != registered.versions.end());
  });
}

HeldLease HeldLease::all_of(const LeasedInstance& leased) {
  HeldLease held{leased.lease, leased.unreadable_places};
  held.taken.reserve(held.taken.size() + leased.messages.size());
  for (const InboxMessage& message : leased.messages) held.taken.push_back(message.place);
  return held;
}

namespace {

std::string in_words(Duration limit) { return std::to_string(limit.count()) + " ms"; }

std::string overdue_message(const ActivityRequest& activity, TimeoutKind which) {
  const std::string name = "activity '" + activity.name + "' ";
  switch (which) {
    case TimeoutKind::schedule_to_start:
      return name + "was taken by no worker within " + in_words(activity.options.schedule_to_start) +
             ": is a worker running that has it registered" +
             (activity.tag ? " and takes the tag '" + *activity.tag + "'?" : "?");
    case TimeoutKind::start_to_close:
      return name + "did not end within " + in_words(activity.options.start_to_close) + " of its start";
    case TimeoutKind::heartbeat:
      return name + "gave no sign of life for " + in_words(activity.options.heartbeat);
    case TimeoutKind::total:
      break;
  }
  return name + "took too long";
}

}  // namespace

bool Provider::wants_maintenance() const noexcept { return false; }

bool Provider::is_contended() const noexcept { return false; }

void Provider::maintain(const std::stop_token&) noexcept {}

Result<InstanceCount> Provider::count_instances(Incarnation after, std::size_t limit) {
  InstanceQuery query;
  query.order = InstanceOrder::oldest_first;
  query.after = after;
  query.limit = limit;
  const Result<InstancePage> page = list_instances(query);
  if (!page) return page.error();
  InstanceCount count;
  for (const InstanceInfo& info : page->instances) {
    if (info.unreadable && !detail::mutant("unreadable_instances_count_as_running")) continue;
    ++count.instances.at(static_cast<std::size_t>(info.status));
  }
  count.next = page->next;
  return count;
}

std::vector<Result<std::vector<Event>>> Provider::read_histories(std::span<const HistoryRequest> requests) {
  std::vector<Result<std::vector<Event>>> histories;
  histories.reserve(requests.size());
  for (const HistoryRequest& request : requests)
    histories.push_back(read_history(request.instance, request.execution, request.after));
  return histories;
}

Failure overdue_failure(const ActivityRequest& activity, TimeoutKind which, std::uint32_t attempt) {
  Failure failure;
  failure.kind = FailureKind::timeout;
  failure.type = "ActivityTimeout";
  failure.message = overdue_message(activity, which);
  failure.retryable = true;
  failure.attempt = attempt;
  failure.timeout = which;
  return failure;
}

}  // namespace duramen::inline v0
