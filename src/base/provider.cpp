#include <duramen/provider.hpp>

#include <algorithm>
#include <string>

namespace duramen::inline v0 {

bool TagFilter::accepts(const std::optional<std::string>& tag) const {
  if (!tag) return untagged;
  return every_tag || std::ranges::find(tags, *tag) != tags.end();
}

namespace {

std::string in_words(Duration limit) { return std::to_string(limit.count()) + " ms"; }

std::string overdue_message(const ActivityExecute& activity, TimeoutKind which) {
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
    case TimeoutKind::total: break;
  }
  return name + "took too long";
}

}  // namespace

Failure overdue_failure(const ActivityExecute& activity, TimeoutKind which, std::uint32_t attempt) {
  Failure failure;
  failure.kind = FailureKind::timeout;
  failure.type = "ActivityTimeout";
  failure.message = overdue_message(activity, which);
  failure.retryable = true;
  failure.attempt = attempt;
  failure.timeout = which;
  return failure;
}

namespace {
Error unsupported(const char* operation) {
  return {ErrorCode::invalid_argument, operation, "this store does not support it", false};
}
}  // namespace

Result<std::size_t> Provider::renew_sessions(std::span<const std::string>, Duration, Duration) {
  return unsupported("renew_sessions");
}
Result<std::size_t> Provider::release_sessions(const std::string&) { return unsupported("release_sessions"); }
Result<SweepResult> Provider::sweep(std::size_t) { return unsupported("sweep"); }
Result<InstancePage> Provider::list_instances(const InstanceQuery&) { return unsupported("list_instances"); }
Result<std::vector<ExecutionInfo>> Provider::list_executions(const InstanceId&) {
  return unsupported("list_executions");
}
Result<std::vector<InstanceInfo>> Provider::get_instance_tree(const InstanceId&) {
  return unsupported("get_instance_tree");
}
Result<PendingWork> Provider::list_pending_work(const InstanceId&) { return unsupported("list_pending_work"); }
Result<std::vector<DeleteResult>> Provider::delete_instances(std::span<const InstanceId>, DeleteMode) {
  return unsupported("delete_instances");
}
Result<std::vector<PruneResult>> Provider::prune_executions(std::span<const InstanceId>, const PruneOptions&) {
  return unsupported("prune_executions");
}
Result<StoreMetrics> Provider::get_metrics() { return unsupported("get_metrics"); }
Result<QueueDepths> Provider::get_queue_depths() { return unsupported("get_queue_depths"); }

}  // namespace duramen::v0
