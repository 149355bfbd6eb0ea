// Finds, removes and counts instances.
#include "providers/common/message_subject.hpp"
#include "testing/memory/state.hpp"

#include <ranges>

namespace duramen::inline v0::testing {
namespace {

InstanceInfo without_results(InstanceInfo info) {
  info.output.reset();
  info.failure.reset();
  return info;
}

}  // namespace

/// A child whose parent is deleted is a root.
bool MemoryState::has_parent(const Instance& instance) const {
  return instance.info.parent && instances.contains(instance.info.parent->incarnation);
}

bool MemoryState::matches(const InstanceFilter& filter, const Instance& instance) {
  const InstanceInfo& info = instance.info;
  if (filter.ids && std::ranges::find(*filter.ids, info.instance) == filter.ids->end()) return false;
  if (filter.id_prefix && !info.instance.value.starts_with(*filter.id_prefix)) return false;
  if (filter.name && info.name != *filter.name) return false;
  if (filter.version && info.version != *filter.version) return false;
  if (!filter.statuses.empty() && std::ranges::find(filter.statuses, info.status) == filter.statuses.end())
    return false;
  if (filter.parent) {
    const Instance* parent = find(*filter.parent);
    if (!parent || !info.parent || info.parent->incarnation != parent->info.incarnation) return false;
  }
  if (filter.roots_only && has_parent(instance)) return false;
  if (filter.created_from && info.created_at < *filter.created_from) return false;
  if (filter.created_before && info.created_at >= *filter.created_before) return false;
  if (filter.ended_before && (!info.ended_at || *info.ended_at >= *filter.ended_before)) return false;
  return true;
}

InstancePage MemoryState::list(const InstanceQuery& query) {
  std::vector<const Instance*> found;
  for (const auto& [incarnation, instance] : instances) {
    if (matches(query.filter, instance)) found.push_back(&instance);
  }
  const bool newest_first = query.order == InstanceOrder::newest_first;
  if (newest_first) std::ranges::reverse(found);

  InstancePage page;
  for (const Instance* instance : found) {
    const Incarnation incarnation = instance->info.incarnation;
    const bool behind = newest_first ? incarnation < query.after : incarnation > query.after;
    if (query.after && !behind) continue;
    if (page.instances.size() == query.limit) {
      page.next = page.instances.empty() ? Incarnation{} : page.instances.back().incarnation;
      break;
    }
    page.instances.push_back(query.with_results ? instance->info : without_results(instance->info));
  }
  return page;
}

/// The instance and its descendants, parents before children.
std::vector<Incarnation> MemoryState::descendants(Incarnation root) const {
  std::vector<Incarnation> members{root};
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (const auto& [incarnation, instance] : instances) {
      const auto& parent = instance.info.parent;
      if (parent && parent->incarnation == members[i]) members.push_back(incarnation);
    }
  }
  return members;
}

std::vector<InstanceInfo> MemoryState::tree(const InstanceId& root) {
  std::vector<InstanceInfo> infos;
  const Instance* instance = find(root);
  if (!instance) return infos;
  for (const Incarnation member : descendants(instance->info.incarnation)) {
    infos.push_back(without_results(instances.at(member).info));
  }
  return infos;
}

/// The messages and timers of the instance, in the order in which turns take them.
std::vector<PendingMessage> MemoryState::queued(const Instance& instance) const {
  std::vector<std::pair<TimePoint, EventId>> timers;
  for (const auto& [event, timer] : instance.timers) timers.emplace_back(timer.fire_at, event);
  std::ranges::sort(timers);

  std::vector<PendingMessage> all;
  auto timer = timers.begin();
  const auto add_timers = [&](TimePoint sent_at) {
    for (; timer != timers.end() && timer->first <= sent_at; ++timer) {
      all.push_back({.type = std::string(message_type(message::TimerFired{})),
                     .execution = instance.timers.at(timer->second).execution,
                     .event = timer->second,
                     .visible_at = timer->first});
    }
  };
  for (const auto& [place, message] : instance.inbox) {
    add_timers(std::min(message.sent_at, clock.now()));
    const auto [execution, event] = providers::message_subject(message.body);
    // The beginning of an execution has no time of its own: the last turn sent it.
    all.push_back({.type = std::string(message_type(message.body)),
                   .execution = execution,
                   .event = event,
                   .visible_at = message.sent_at == TimePoint{} ? instance.info.updated_at : message.sent_at,
                   .unreadable = {},
                   .cancel = providers::message_cancel(message.body)});
  }
  add_timers(TimePoint::max());
  return all;
}

PendingWork MemoryState::pending(const InstanceId& id) {
  PendingWork result;
  const Instance* instance = find(id);
  if (!instance) return result;
  for (const auto& [key, row] : work) {
    if (key.incarnation != instance->info.incarnation) continue;
    result.activities.push_back({.execution = key.execution,
                                 .activity = key.activity,
                                 .name = row.request.name,
                                 .tag = row.request.tag,
                                 .session_id = row.request.session_id,
                                 .visible_at = on_the_wall(row.position.since),
                                 .attempt = row.attempts,
                                 .owner = is_leased(row) ? row.owner : NodeId{}});
  }
  for (const auto& message : queued(*instance)) {
    result.more_messages = result.messages.size() == PendingWork::max_messages;
    if (result.more_messages) break;
    result.messages.push_back(message);
  }
  result.attempt = instance->attempts;
  result.leased = is_leased(*instance);
  if (instance->not_before > LeaseTime{}) result.not_before = on_the_wall(instance->not_before);
  result.not_before = std::max(result.not_before, instance->start_at);
  return result;
}

DeleteResult MemoryState::remove(const InstanceId& id, DeleteMode mode) {
  const Instance* root = find(id);
  if (!root) return {DeleteOutcome::not_found};
  if (has_parent(*root)) return {DeleteOutcome::has_parent};
  const std::vector<Incarnation> members = descendants(root->info.incarnation);
  const auto has_ended = [&](Incarnation member) { return is_final(instances.at(member).info.status); };
  if (mode == DeleteMode::finished && !std::ranges::all_of(members, has_ended))
    return {DeleteOutcome::not_finished};

  DeleteResult result;
  for (const Incarnation member : members) {
    const Instance& instance = instances.at(member);
    ++result.instances;
    result.executions += instance.executions.size();
    for (const auto& [number, execution] : instance.executions) result.events += execution.history.size();
    const auto own_rows = [&](const auto& entry) { return entry.first.incarnation == member; };
    result.messages += instance.inbox.size() + instance.timers.size() +
                       static_cast<std::uint64_t>(std::ranges::count_if(work, own_rows));
    notices.instances.push_back({instance.info.instance, instance.info.status, {}});
    erase(instance);
  }
  return result;
}

PruneResult MemoryState::prune(const InstanceId& id, const PruneOptions& wanted) {
  Instance* instance = find(id);
  if (!instance) return {};
  const std::size_t keep = std::max<std::uint32_t>(wanted.keep_last.value_or(1), 1);
  std::size_t newer = instance->executions.size();

  PruneResult result{.found = true};
  std::erase_if(instance->executions, [&](const auto& entry) {
    --newer;
    const auto& [number, execution] = entry;
    const bool old = newer >= keep && number != instance->info.execution;
    const bool ended =
        !wanted.ended_before || (execution.info.ended_at && *execution.info.ended_at < *wanted.ended_before);
    if (!old || !ended) return false;
    ++result.executions;
    result.events += execution.history.size();
    return true;
  });
  return result;
}

StoreMetrics MemoryState::metrics() const {
  StoreMetrics result;
  for (const auto& [incarnation, instance] : instances) {
    ++result.instances.at(static_cast<std::size_t>(instance.info.status));
    result.executions += instance.executions.size();
    for (const auto& [number, execution] : instance.executions) result.events += execution.history.size();
  }
  return result;
}

InstanceCount MemoryState::count(Incarnation after, std::size_t limit) const {
  InstanceCount result;
  auto at = instances.upper_bound(after);
  Incarnation last;
  for (std::size_t counted = 0; counted < limit && at != instances.end(); ++counted, ++at) {
    ++result.instances.at(static_cast<std::size_t>(at->second.info.status));
    last = at->first;
  }
  if (at != instances.end()) result.next = last;
  return result;
}

QueueDepths MemoryState::depths() const {
  QueueDepths result;
  for (const auto& [incarnation, instance] : instances) {
    const bool delayed = instance.start_at > clock.now() || instance.not_before > clock.lease_now();
    const auto count = [&](bool later, std::size_t messages) {
      (later || delayed      ? result.orchestrator_later
       : is_leased(instance) ? result.orchestrator_leased
                             : result.orchestrator_due) += messages;
    };
    count(false, instance.inbox.size());
    for (const auto& [event, timer] : instance.timers) count(timer.fire_at > clock.now(), 1);
  }
  for (const auto& [key, row] : work) {
    ++(is_leased(row)                           ? result.worker_leased
       : row.position.since > clock.lease_now() ? result.worker_later
                                                : result.worker_due);
  }
  for (const auto& [target, messages] : parked) result.parked += messages.size();
  for (const auto& [id, session] : sessions) result.sessions += is_live(session) ? 1 : 0;
  return result;
}

Snapshot MemoryState::snapshot() {
  forget_tombstones();
  Snapshot result{.instances = instances.size(),
                  .worker_rows = work.size(),
                  .tombstones = tombstones.size(),
                  .sessions = sessions.size(),
                  .commit_calls = commit_calls_,
                  .commits = commits_,
                  .dropped_parked = dropped_parked_};
  for (const auto& [incarnation, instance] : instances) {
    result.queued_messages += instance.inbox.size() + instance.timers.size();
  }
  for (const auto& [target, messages] : parked) result.parked_messages += messages.size();
  return result;
}

}  // namespace duramen::inline v0::testing
