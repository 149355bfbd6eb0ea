// One lock around MemoryState; a call notifies the listeners after it has released the lock.
#include "providers/common/listeners.hpp"
#include "providers/common/node_json.hpp"
#include "testing/memory/state.hpp"
#include <duramen/testing/memory_provider.hpp>

#include <algorithm>
#include <mutex>
#include <random>
#include <string>
#include <utility>

namespace duramen::inline v0::testing {

namespace {

/// 128 random bits in hexadecimal digits.
std::string random_id() {
  constexpr const char* digits = "0123456789abcdef";
  std::random_device random;
  std::string id;
  for (int i = 0; i < 32; ++i) id += digits[random() & 0xFu];
  return id;
}

}  // namespace

struct MemoryProvider::Impl {
  Impl(const Clock& clock, MemoryOptions options)
      : store_id(options.store_id.empty() ? random_id() : options.store_id),
        state(clock, std::move(options)) {}

  /// Runs one transaction, then notifies the listeners.
  template <class Transaction>
  auto run(Transaction transaction) {
    std::unique_lock lock(mutex);
    auto answer = transaction(state);
    const providers::Notices notices = std::exchange(state.notices, {});
    lock.unlock();
    listeners.notify(notices);
    return answer;
  }
  /// The same for a batch: one answer per entry, in order.
  template <class Entries, class Step>
  auto run_each(const Entries& entries, Step step) {
    return run([&](MemoryState& s) {
      std::vector<decltype(step(s, entries[0]))> answers;
      answers.reserve(entries.size());
      for (const auto& entry : entries) answers.push_back(step(s, entry));
      return answers;
    });
  }

  const std::string store_id;
  std::mutex mutex;
  MemoryState state;
  providers::Listeners listeners;
};

MemoryProvider::MemoryProvider(const Clock& clock, MemoryOptions options)
    : impl_(std::make_unique<Impl>(clock, std::move(options))) {}
MemoryProvider::~MemoryProvider() = default;

std::string_view MemoryProvider::store_id() const noexcept { return impl_->store_id; }
const Clock& MemoryProvider::clock() const noexcept { return impl_->state.clock; }

Snapshot MemoryProvider::snapshot() const {
  return impl_->run([](MemoryState& state) { return state.snapshot(); });
}

Result<std::vector<StartOutcome>> MemoryProvider::start_instances(std::span<const StartRequest> requests) {
  return impl_->run_each(requests, [](MemoryState& state, const StartRequest& r) { return state.start(r); });
}

Result<std::vector<EnqueueOutcome>> MemoryProvider::enqueue_messages(
    std::span<const OutboundMessage> messages) {
  return impl_->run([&](MemoryState& state) {
    std::vector<EnqueueOutcome> outcomes;
    for (const OutboundMessage& message : messages) {
      outcomes.push_back(state.deliver(message));
      // Even for a later message: sleeping nodes do not know its time.
      if (outcomes.back() == EnqueueOutcome::enqueued) state.notices.turns_ready = true;
    }
    state.descend();
    return outcomes;
  });
}

Result<TurnBatch> MemoryProvider::fetch_turns(const TurnFetch& request) {
  return impl_->run([&](MemoryState& state) { return state.fetch_instances(request); });
}

Result<std::vector<Event>> MemoryProvider::read_history(const InstanceId& id, ExecutionId execution,
                                                        EventId after) {
  return impl_->run([&](MemoryState& state) { return state.read_history({id, execution, after}); });
}

std::vector<Result<std::vector<Event>>> MemoryProvider::read_histories(
    std::span<const HistoryRequest> requests) {
  return impl_->run_each(requests, [](MemoryState& state, const HistoryRequest& request) {
    return state.read_history(request);
  });
}

Result<std::vector<CommitResult>> MemoryProvider::commit_turns(std::span<const TurnCommit> commits,
                                                               const std::stop_token& preempt) {
  // Half of them, so that a test sees both: stored commits, and commits that must be sent again.
  if (preempt.stop_requested()) commits = commits.first(commits.size() / 2);
  return impl_->run([&](MemoryState& state) { return state.commit_all(commits); });
}

Result<void> MemoryProvider::release_turns(std::span<const TurnRelease> items) {
  return impl_->run([&](MemoryState& state) {
    for (const TurnRelease& item : items) state.release(item);
    return Result<void>{};
  });
}

Result<std::vector<bool>> MemoryProvider::renew_turns(std::span<const TurnLease> leases, Duration extend) {
  return impl_->run_each(leases,
                         [&](MemoryState& state, const TurnLease& l) { return state.renew(l, extend); });
}

Result<ActivityBatch> MemoryProvider::fetch_activities(const ActivityFetch& request) {
  return impl_->run([&](MemoryState& state) { return state.fetch_work(request); });
}

Result<std::vector<AckResult>> MemoryProvider::ack_activities(std::span<const ActivityAck> acks) {
  return impl_->run_each(acks, [](MemoryState& state, const ActivityAck& a) { return state.ack(a); });
}

Result<std::vector<RenewResult>> MemoryProvider::renew_activities(std::span<const ActivityRenewal> leases,
                                                                  Duration extend) {
  return impl_->run_each(
      leases, [&](MemoryState& state, const ActivityRenewal& r) { return state.renew(r, extend); });
}

Result<void> MemoryProvider::release_activities(std::span<const ActivityRelease> items) {
  return impl_->run([&](MemoryState& state) {
    for (const ActivityRelease& item : items) state.release(item);
    return Result<void>{};
  });
}

Result<std::vector<StolenLease>> MemoryProvider::read_stolen_leases(const NodeId& node) {
  return impl_->run([&](MemoryState& state) { return state.read_stolen(node); });
}

Result<std::size_t> MemoryProvider::renew_sessions(std::span<const std::string> owners, Duration extend,
                                                   Duration idle_timeout) {
  return impl_->run([&](MemoryState& state) { return state.renew_sessions(owners, extend, idle_timeout); });
}

Result<std::size_t> MemoryProvider::release_sessions(const std::string& owner) {
  return impl_->run([&](MemoryState& state) { return state.release_sessions(owner); });
}

Result<SweepResult> MemoryProvider::sweep(std::size_t limit) {
  return impl_->run([&](MemoryState& state) { return state.sweep(limit); });
}

Result<void> MemoryProvider::write_node(const NodeRecord& record) {
  return impl_->run([&](MemoryState& state) {
    if (Result<void> ok = providers::check_node_id(record.node); !ok) return ok;
    state.write_node(record);
    return Result<void>{};
  });
}

Result<void> MemoryProvider::remove_node(const NodeId& node, const std::string& run) {
  return impl_->run([&](MemoryState& state) {
    state.remove_node(node, run);
    return Result<void>{};
  });
}

Result<std::vector<NodeRecord>> MemoryProvider::list_nodes() {
  return impl_->run([](MemoryState& state) { return state.list_nodes(); });
}

Result<std::uint32_t> MemoryProvider::get_write_level() {
  return impl_->run([](MemoryState& state) { return state.write_level; });
}

Result<WriteLevelRaise> MemoryProvider::raise_write_level(std::uint32_t level, Duration live_within) {
  return impl_->run([&](MemoryState& state) { return state.raise_write_level(level, live_within); });
}

Result<std::optional<InstanceInfo>> MemoryProvider::get_instance(const InstanceId& id) {
  return impl_->run([&](MemoryState& state) {
    const Instance* instance = state.find(id);
    return instance ? std::optional(instance->info) : std::nullopt;
  });
}

Result<KeyValues> MemoryProvider::get_key_values(const InstanceId& id) {
  return impl_->run([&](MemoryState& state) {
    const Instance* instance = state.find(id);
    return instance ? instance->key_values : KeyValues{};
  });
}

Result<InstancePage> MemoryProvider::list_instances(const InstanceQuery& query) {
  return impl_->run([&](MemoryState& state) { return state.list(query); });
}

Result<std::vector<ExecutionInfo>> MemoryProvider::list_executions(const InstanceId& id) {
  return impl_->run([&](MemoryState& state) {
    std::vector<ExecutionInfo> infos;
    if (const Instance* instance = state.find(id)) {
      for (const auto& [number, execution] : instance->executions) infos.push_back(execution.info);
    }
    return infos;
  });
}

Result<std::vector<InstanceInfo>> MemoryProvider::get_instance_tree(const InstanceId& root) {
  return impl_->run([&](MemoryState& state) { return state.tree(root); });
}

Result<PendingWork> MemoryProvider::list_pending_work(const InstanceId& id) {
  return impl_->run([&](MemoryState& state) { return state.pending(id); });
}

Result<std::vector<DeleteResult>> MemoryProvider::delete_instances(std::span<const InstanceId> instances,
                                                                   DeleteMode mode) {
  return impl_->run_each(instances,
                         [&](MemoryState& state, const InstanceId& id) { return state.remove(id, mode); });
}

Result<std::vector<PruneResult>> MemoryProvider::prune_executions(std::span<const InstanceId> instances,
                                                                  const PruneOptions& options) {
  if (!options.keep_last && !options.ended_before) {
    return Error{ErrorCode::invalid_argument, "prune_executions",
                 "no executions to remove were chosen; give keep_last, ended_before or both", false};
  }
  return impl_->run_each(instances,
                         [&](MemoryState& state, const InstanceId& id) { return state.prune(id, options); });
}

Result<StoreMetrics> MemoryProvider::get_metrics() {
  return impl_->run([](MemoryState& state) { return state.metrics(); });
}

Result<InstanceCount> MemoryProvider::count_instances(Incarnation after, std::size_t limit) {
  return impl_->run([&](MemoryState& state) { return state.count(after, limit); });
}

Result<QueueDepths> MemoryProvider::get_queue_depths() {
  return impl_->run([](MemoryState& state) { return state.depths(); });
}

std::unique_ptr<Subscription> MemoryProvider::subscribe(NodeId node, ProviderListener& listener) {
  return impl_->listeners.add(std::move(node), listener);
}

void with_tables(MemoryProvider& provider, const std::function<void(MemoryTables&)>& look) {
  std::lock_guard lock(provider.impl_->mutex);
  look(provider.impl_->state);
}

}  // namespace duramen::inline v0::testing
