#include <duramen/forwarding_provider.hpp>

namespace duramen::inline v0 {

template <class Call>
auto ForwardingProvider::pass(ProviderCall call, Call run) -> decltype(run(std::declval<Provider&>())) {
  if (auto error = before(call)) return std::move(*error);
  auto answer = run(*inner_);
  answered(call, answer ? nullptr : &answer.error());
  if (auto error = after(call)) return std::move(*error);
  return answer;
}

Result<std::vector<StartOutcome>> ForwardingProvider::start_instances(
    std::span<const StartRequest> requests) {
  return pass({"start_instances", true}, [&](Provider& inner) { return inner.start_instances(requests); });
}

Result<std::vector<EnqueueOutcome>> ForwardingProvider::enqueue_messages(
    std::span<const OutboundMessage> messages) {
  return pass({"enqueue_messages", true}, [&](Provider& inner) { return inner.enqueue_messages(messages); });
}

Result<TurnBatch> ForwardingProvider::fetch_turns(const TurnFetch& request) {
  return pass({"fetch_turns", true}, [&](Provider& inner) { return inner.fetch_turns(request); });
}

Result<std::vector<Event>> ForwardingProvider::read_history(const InstanceId& instance, ExecutionId execution,
                                                            EventId after) {
  return pass({"read_history", false},
              [&](Provider& inner) { return inner.read_history(instance, execution, after); });
}

std::vector<Result<std::vector<Event>>> ForwardingProvider::read_histories(
    std::span<const HistoryRequest> requests) {
  std::vector<Result<std::vector<Event>>> histories;
  histories.reserve(requests.size());
  for (const HistoryRequest& request : requests) {
    Result<std::vector<Event>> history = read_history(request.instance, request.execution, request.after);
    if (history && request.token) {
      const auto checked = inner_->read_histories({&request, 1});
      if (!checked.at(0)) history = checked.at(0).error();
    }
    histories.push_back(std::move(history));
  }
  return histories;
}

Result<std::vector<CommitResult>> ForwardingProvider::commit_turns(std::span<const TurnCommit> commits,
                                                                   const std::stop_token& preempt) {
  return pass({"commit_turns", true}, [&](Provider& inner) { return inner.commit_turns(commits, preempt); });
}

Result<void> ForwardingProvider::release_turns(std::span<const TurnRelease> items) {
  return pass({"release_turns", true}, [&](Provider& inner) { return inner.release_turns(items); });
}

Result<std::vector<bool>> ForwardingProvider::renew_turns(std::span<const TurnLease> leases,
                                                          Duration extend) {
  return pass({"renew_turns", true}, [&](Provider& inner) { return inner.renew_turns(leases, extend); });
}

Result<ActivityBatch> ForwardingProvider::fetch_activities(const ActivityFetch& request) {
  return pass({"fetch_activities", true}, [&](Provider& inner) { return inner.fetch_activities(request); });
}

Result<std::vector<AckResult>> ForwardingProvider::ack_activities(std::span<const ActivityAck> acks) {
  return pass({"ack_activities", true}, [&](Provider& inner) { return inner.ack_activities(acks); });
}

Result<std::vector<RenewResult>> ForwardingProvider::renew_activities(std::span<const ActivityRenewal> leases,
                                                                      Duration extend) {
  return pass({"renew_activities", true},
              [&](Provider& inner) { return inner.renew_activities(leases, extend); });
}

Result<void> ForwardingProvider::release_activities(std::span<const ActivityRelease> items) {
  return pass({"release_activities", true}, [&](Provider& inner) { return inner.release_activities(items); });
}

Result<std::vector<StolenLease>> ForwardingProvider::read_stolen_leases(const NodeId& node) {
  return pass({"read_stolen_leases", true}, [&](Provider& inner) { return inner.read_stolen_leases(node); });
}

Result<std::size_t> ForwardingProvider::renew_sessions(std::span<const std::string> owners, Duration extend,
                                                       Duration idle_timeout) {
  return pass({"renew_sessions", true},
              [&](Provider& inner) { return inner.renew_sessions(owners, extend, idle_timeout); });
}

Result<std::size_t> ForwardingProvider::release_sessions(const std::string& owner) {
  return pass({"release_sessions", true}, [&](Provider& inner) { return inner.release_sessions(owner); });
}

Result<SweepResult> ForwardingProvider::sweep(std::size_t limit) {
  return pass({"sweep", true}, [&](Provider& inner) { return inner.sweep(limit); });
}

Result<void> ForwardingProvider::write_node(const NodeRecord& record) {
  return pass({"write_node", true}, [&](Provider& inner) { return inner.write_node(record); });
}

Result<void> ForwardingProvider::remove_node(const NodeId& node, const std::string& run) {
  return pass({"remove_node", true}, [&](Provider& inner) { return inner.remove_node(node, run); });
}

Result<std::vector<NodeRecord>> ForwardingProvider::list_nodes() {
  return pass({"list_nodes", false}, [&](Provider& inner) { return inner.list_nodes(); });
}

Result<std::uint32_t> ForwardingProvider::get_write_level() {
  return pass({"get_write_level", false}, [&](Provider& inner) { return inner.get_write_level(); });
}

Result<WriteLevelRaise> ForwardingProvider::raise_write_level(std::uint32_t level, Duration live_within) {
  return pass({"raise_write_level", true},
              [&](Provider& inner) { return inner.raise_write_level(level, live_within); });
}

Result<std::optional<InstanceInfo>> ForwardingProvider::get_instance(const InstanceId& instance) {
  return pass({"get_instance", false}, [&](Provider& inner) { return inner.get_instance(instance); });
}

Result<KeyValues> ForwardingProvider::get_key_values(const InstanceId& instance) {
  return pass({"get_key_values", false}, [&](Provider& inner) { return inner.get_key_values(instance); });
}

Result<InstancePage> ForwardingProvider::list_instances(const InstanceQuery& query) {
  return pass({"list_instances", false}, [&](Provider& inner) { return inner.list_instances(query); });
}

Result<std::vector<ExecutionInfo>> ForwardingProvider::list_executions(const InstanceId& instance) {
  return pass({"list_executions", false}, [&](Provider& inner) { return inner.list_executions(instance); });
}

Result<std::vector<InstanceInfo>> ForwardingProvider::get_instance_tree(const InstanceId& root) {
  return pass({"get_instance_tree", false}, [&](Provider& inner) { return inner.get_instance_tree(root); });
}

Result<PendingWork> ForwardingProvider::list_pending_work(const InstanceId& instance) {
  return pass({"list_pending_work", false},
              [&](Provider& inner) { return inner.list_pending_work(instance); });
}

Result<std::vector<DeleteResult>> ForwardingProvider::delete_instances(std::span<const InstanceId> instances,
                                                                       DeleteMode mode) {
  return pass({"delete_instances", true},
              [&](Provider& inner) { return inner.delete_instances(instances, mode); });
}

Result<std::vector<PruneResult>> ForwardingProvider::prune_executions(std::span<const InstanceId> instances,
                                                                      const PruneOptions& options) {
  return pass({"prune_executions", true},
              [&](Provider& inner) { return inner.prune_executions(instances, options); });
}

Result<StoreMetrics> ForwardingProvider::get_metrics() {
  return pass({"get_metrics", false}, [&](Provider& inner) { return inner.get_metrics(); });
}

Result<InstanceCount> ForwardingProvider::count_instances(Incarnation after, std::size_t limit) {
  return pass({"count_instances", false},
              [&](Provider& inner) { return inner.count_instances(after, limit); });
}

Result<QueueDepths> ForwardingProvider::get_queue_depths() {
  return pass({"get_queue_depths", false}, [&](Provider& inner) { return inner.get_queue_depths(); });
}

}  // namespace duramen::inline v0
