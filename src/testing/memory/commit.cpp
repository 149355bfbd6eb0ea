// Stores a turn: checks that it may be stored, then applies its changes step by step.
#include "providers/common/inbox.hpp"
#include "providers/common/invalid_turn.hpp"
#include "testing/memory/state.hpp"

#include <algorithm>
#include <set>

namespace duramen::inline v0::testing {
namespace {

/// Adds the incarnation of the instance, which a fused first turn could not know.
void complete(ParentLink& link, const Instance& parent) {
  if (link.instance == parent.info.instance && !link.incarnation) link.incarnation = parent.info.incarnation;
}
void complete(std::optional<ParentLink>& link, const Instance& parent) {
  if (link) complete(*link, parent);
}

/// Deletes the message or the timer at this place.
void take(Instance& instance, std::int64_t place) {
  if (place >= providers::first_timer_place) {
    instance.timers.erase(EventId{static_cast<std::uint64_t>(place - providers::first_timer_place)});
  } else {
    instance.inbox.erase(place);
    if (instance.cancel_place == place) instance.cancel_place.reset();
  }
}

void change_key_value(KeyValues& values, const KeyValueChange& change) {
  if (!change.key) {
    values.clear();
  } else if (!change.value) {
    values.erase(*change.key);
  } else {
    values[*change.key] = {*change.value, change.updated_at};
  }
}

}  // namespace

/// Decides and stores all turns before it sends any message: no turn of the batch sees a message of another
/// one.
std::vector<CommitResult> MemoryState::commit_all(std::span<const TurnCommit> commits) {
  forget_tombstones();
  ++commit_calls_;
  std::vector<CommitResult> results;
  results.reserve(commits.size());
  for (const TurnCommit& commit : commits) results.push_back(this->commit(commit));

  for (std::size_t i = 0; i < commits.size(); ++i) {
    if (results[i].outcome != CommitOutcome::committed) continue;
    ++commits_;
    Instance& instance = *find(results[i].incarnation);
    enqueue_first(instance, commits[i].put_back);
    send_messages(commits[i], instance, results[i]);
    drop_timers(commits[i], instance);
    if (is_final(instance.info.status)) {
      instance.inbox.clear();
      instance.timers.clear();
      instance.cancel_place.reset();
    }
    set_entry(instance);  // after what it dropped and what it enqueued
  }
  descend();
  return results;
}

/// Stores one turn without its messages.
CommitResult MemoryState::commit(const TurnCommit& commit) {
  const auto* fused = std::get_if<FusedStart>(&commit.basis);
  Instance* instance = fused ? find(commit.instance) : find(commit.incarnation);

  CommitResult result;
  if (instance) {
    result.incarnation = instance->info.incarnation;
    if (commit.token && instance->last_commit == commit.token) {
      result.outcome = CommitOutcome::already_committed;
      return result;
    }
  }
  if (!basis_holds(commit, instance, result)) return result;
  if (providers::problem_of(commit) != nullptr || !continues(commit, fused ? nullptr : instance)) {
    result.outcome = CommitOutcome::invalid;
    result.message = providers::reason_of_invalid(commit);
    return result;
  }
  if (fused) {
    instance = &create(commit.instance, fused->request.start);
    result.incarnation = instance->info.incarnation;
    deliver_parked(*instance);
  }
  apply(commit, *instance, result);
  return result;
}

/// True if this turn may be stored; otherwise `result` has the reason.
bool MemoryState::basis_holds(const TurnCommit& commit, Instance* instance, CommitResult& result) {
  if (const auto* fused = std::get_if<FusedStart>(&commit.basis)) {
    const auto refused = refusal(fused->request);
    if (!refused) return true;
    result.outcome = CommitOutcome::start_refused;
    result.start = *refused;
    return false;
  }

  bool condition = true;
  if (const auto* held = std::get_if<HeldLease>(&commit.basis)) {
    if (!find_leased(TurnLease{commit.incarnation, held->token})) {
      result.outcome = CommitOutcome::lease_lost;
      return false;
    }
  } else {
    const auto& demanded = std::get<ConditionalLease>(commit.basis);
    condition = instance && !is_leased(*instance) && !is_final(instance->info.status) &&
                instance->info.last_event_id == demanded.last_event_id &&
                (!demanded.replay_token || instance->replay_token == demanded.replay_token) &&
                instance->inbox.empty() && !has_due_timer(*instance);
  }
  // A turn made from the result of an activity needs that activity: if it was cancelled in between, the turn
  // is not stored.
  const auto is_held = [&](const ActivityAck& entry) { return find_leased(entry.lease) != nullptr; };
  if (condition && std::ranges::all_of(commit.activity_acks, is_held)) return true;

  result.outcome = CommitOutcome::condition_failed;
  for (const ActivityAck& entry : commit.activity_acks) result.acks.push_back(ack(entry));
  return false;
}

/// True if the events continue the stored history. `instance` is null if this commit creates it.
bool MemoryState::continues(const TurnCommit& commit, const Instance* instance) {
  ExecutionId current{1};
  EventId last;
  if (instance) {
    current = instance->info.execution;
    last = instance->info.last_event_id;
    if (instance->info.status == Status::continued_as_new && commit.execution == current.next()) {
      current = commit.execution;
      last = {};
    }
  }
  if (commit.execution != current || (!instance && !commit.activity_acks.empty())) return false;
  return std::ranges::all_of(commit.events, [&](const Event& event) {
    last = last.next();
    return event.id == last;
  });
}

void MemoryState::apply(const TurnCommit& commit, Instance& instance, CommitResult& result) {
  InstanceInfo& info = instance.info;
  if (const auto* held = std::get_if<HeldLease>(&commit.basis)) {
    for (const std::int64_t place : held->taken) take(instance, place);
  }
  instance.lease = {};
  instance.not_before = {};
  instance.attempts = 0;
  instance.waits.reset();
  for (const ActivityAck& entry : commit.activity_acks) {
    const auto row = work.find(entry.lease.key);
    use_session(row->second);
    work.erase(row);
  }

  if (info.execution != commit.execution) {
    info.execution = commit.execution;
    info.last_event_id = {};
    instance.executions[commit.execution].info = {.execution = commit.execution, .started_at = clock.now()};
  }
  Execution& execution = instance.executions.at(commit.execution);
  const InstanceChange& change = commit.change;
  if (execution.history.empty()) info.graceful = change.graceful;
  execution.history.insert(execution.history.end(), commit.events.begin(), commit.events.end());
  if (!execution.history.empty()) info.last_event_id = execution.history.back().id;
  if (!commit.events.empty()) {
    execution.commits[info.last_event_id] = commit.token;
    instance.replay_token = commit.token;
  }

  info.status = change.status;
  info.updated_at = clock.now();
  if (change.version) info.version = *change.version;
  if (change.output) info.output = change.output;
  if (change.failure) info.failure = change.failure;
  if (change.parent) info.parent = change.parent;
  if (change.cancel_asked) info.cancel_asked = std::max(info.cancel_asked, change.cancel_asked);
  if (is_final(change.status) && !info.ended_at) info.ended_at = clock.now();
  if (change.custom_status) {
    info.custom_status = change.custom_status->status;
    ++info.custom_status_version;
  }
  for (const KeyValueChange& entry : change.key_values) change_key_value(instance.key_values, entry);

  execution.info.status = info.status;
  execution.info.version = info.version;
  execution.info.last_event_id = info.last_event_id;
  execution.info.output = change.output;
  execution.info.failure = change.failure;
  if (is_final(change.status) || change.status == Status::continued_as_new) {
    execution.info.ended_at = clock.now();
    instance.settled = instance.key_values;
  }
  // The next execution is pinned by its own first turn.
  instance.engine_version.reset();
  if (change.status != Status::continued_as_new) instance.engine_version = change.engine_version;
  instance.last_commit = commit.token;

  insert_activities(commit, instance);
  cancel(commit, instance, result);
  notices.instances.push_back({info.instance, info.status, commit.node});
}

void MemoryState::insert_activities(const TurnCommit& commit, const Instance& instance) {
  std::set<EventId> cancelled;
  for (const CancelledActivity& entry : commit.cancelled_activities) cancelled.insert(entry.activity);

  for (const NewActivity& item : commit.new_activities) {
    // An activity scheduled and cancelled in one turn is never inserted, and no lease is stolen.
    if (commit.cancel_rest || cancelled.contains(item.request.key.activity)) continue;
    WorkRow row{.request = item.request,
                .position = {clock.lease_now(), ++last_arrival_},
                .heartbeat = item.request.heartbeat};
    row.request.key.incarnation = instance.info.incarnation;
    if (item.born_leased) {
      begin_attempt(row, commit.node, *item.born_leased, commit.activity_lease);
    } else {
      notices.activities_ready = true;
    }
    const ActivityKey key = row.request.key;
    work.emplace(key, std::move(row));
  }
}

void MemoryState::send_messages(const TurnCommit& commit, Instance& instance, CommitResult& result) {
  for (OutboundMessage message : commit.messages) {
    auto* start = std::get_if<message::StartOrchestration>(&message.body);
    if (start) complete(start->parent, instance);
    if (auto* cancel = std::get_if<message::CancelInstance>(&message.body))
      complete(cancel->parent, instance);
    const EnqueueOutcome outcome = deliver(message);
    const bool refused = start && outcome == EnqueueOutcome::duplicate;
    if (start && !refused && start->parent && instance.cancel_place)
      pass_cancel_on(instance, *start, *find(message.target));
    if (refused && !message.if_refused) result.refused_starts.push_back(message.target);
    if (!refused || !message.if_refused || is_final(instance.info.status)) continue;
    MessageBody& answer = *message.if_refused;
    if (auto* failed = std::get_if<message::SubOrchestrationFailed>(&answer))
      complete(failed->parent, instance);
    enqueue(instance, std::move(answer));
  }
}

/// Deletes cancelled activities, after the new ones were inserted.
void MemoryState::cancel(const TurnCommit& commit, const Instance& instance, CommitResult& result) {
  const auto steal = [&](const ActivityKey& key, CancelReason reason) {
    const auto stolen = remove_row(key, reason, commit.node);
    if (!stolen) return;
    result.stolen.push_back(*stolen);
    if (stolen->owner != commit.node) notices.stolen.push_back(*stolen);
  };
  const Incarnation incarnation = instance.info.incarnation;
  for (const CancelledActivity& entry : commit.cancelled_activities) {
    steal({incarnation, commit.execution, entry.activity}, entry.reason);
  }
  if (commit.cancel_rest) {
    auto row = work.lower_bound({incarnation, commit.execution, {}});
    while (row != work.end() && row->first.incarnation == incarnation &&
           row->first.execution == commit.execution) {
      const ActivityKey key = (row++)->first;
      steal(key, *commit.cancel_rest);
    }
  }
}

/// Deletes cancelled timers, after the new ones were inserted.
void MemoryState::drop_timers(const TurnCommit& commit, Instance& instance) {
  const std::set<EventId> dropped(commit.dropped_timers.begin(), commit.dropped_timers.end());
  std::erase_if(instance.timers, [&](const auto& entry) {
    return entry.second.execution == commit.execution &&
           (commit.cancel_rest || dropped.contains(entry.first));
  });
}

}  // namespace duramen::inline v0::testing
