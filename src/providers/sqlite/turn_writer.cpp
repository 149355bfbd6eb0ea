#include "providers/sqlite/turn_writer.hpp"

#include "providers/common/invalid_turn.hpp"

#include <algorithm>
#include <unordered_set>
#include <variant>

namespace duramen::inline v0::sqlite::detail {

namespace {

EventId last_event(const TurnCommit& commit, EventId before) {
  return commit.events.empty() ? before : commit.events.back().id;
}

bool numbered_after(const TurnCommit& commit, EventId last) {
  return std::ranges::all_of(commit.events, [&](const Event& event) {
    last = last.next();
    return event.id == last;
  });
}

bool starts_next_execution(const TurnCommit& commit, const InstanceRow& instance) {
  return instance.status == Status::continued_as_new && commit.execution == instance.execution.next();
}

/// True if the events continue the stored history.
bool continues(const TurnCommit& commit, const InstanceRow& instance) {
  if (starts_next_execution(commit, instance)) return numbered_after(commit, {});
  return commit.execution == instance.execution && numbered_after(commit, instance.last_event_id);
}

bool is_first_turn(const TurnCommit& commit) {
  return commit.execution == ExecutionId{1} && commit.activity_acks.empty() && numbered_after(commit, {});
}

/// Adds the incarnation of the instance, which a fused first turn could not know.
void fill_in(ParentLink& link, const InstanceId& instance, Incarnation key) {
  if (link.instance == instance && !link.incarnation) link.incarnation = key;
}
void fill_in(std::optional<ParentLink>& link, const InstanceId& instance, Incarnation key) {
  if (link) fill_in(*link, instance, key);
}

}  // namespace

CommitResult TurnWriter::commit(const TransactionTime& time, const TurnCommit& commit,
                                std::string_view events, providers::Notices& notices) {
  if (const auto* fused = std::get_if<FusedStart>(&commit.basis)) {
    return commit_start(time, commit, *fused, events, notices);
  }
  return commit_turn(time, commit, events, notices);
}

CommitResult TurnWriter::commit_start(const TransactionTime& time, const TurnCommit& commit,
                                      const FusedStart& fused, std::string_view events,
                                      providers::Notices& notices) {
  const InstanceChange& change = commit.change;
  const NewInstance instance{
      .id = commit.instance,
      .start = fused.request.start,
      .status = change.status,
      .version = change.version ? std::string_view(*change.version) : std::string_view{},
      .last_event_id = last_event(commit, {}),
      .engine_version = change.engine_version,
      .commit_token = commit.token,
      .output = &change.output,
      .parent = change.parent ? &change.parent : nullptr};
  CommitResult result;
  const bool fits = is_first_turn(commit);
  // Inserting first saves a query in the usual case that the id is free.
  std::optional<Incarnation> key;
  if (fits) key = instances_.insert(time, numbers_, instance);
  if (!key) {
    if (const auto taken = instances_.find(commit.instance)) {
      result.incarnation = taken->key;
      if (commit.token && taken->commit_token == commit.token) {
        result.outcome = CommitOutcome::already_committed;
        return result;
      }
      if (const auto refused = Delivery::refusal(*taken, fused.request)) {
        result.outcome = CommitOutcome::start_refused;
        result.start = *refused;
        return result;
      }
      if (fits) delivery_.erase_instance(time, taken->key, notices);
    }
    if (!fits) {
      result.outcome = CommitOutcome::invalid;
      result.message = providers::turn_does_not_fit;
      return result;
    }
    key = instances_.insert(time, numbers_, instance);
  }
  result.incarnation = *key;
  parked_.move_to(time, commit.instance, *key, queue_, notices);
  if (!commit.events.empty()) {
    instances_.append_history(*key, commit.execution, commit.events.front().id, commit.events.back().id,
                              events);
  }
  if (change.failure) instances_.set_failure(*key, *change.failure);
  store_status_and_key_values(change, *key, false);
  store_work(time, commit, *key, result, notices);
  return result;
}

CommitResult TurnWriter::commit_turn(const TransactionTime& time, const TurnCommit& commit,
                                     std::string_view events, providers::Notices& notices) {
  CommitResult result;
  const auto instance = instances_.find(commit.incarnation);
  if (instance) {
    result.incarnation = instance->key;
    if (commit.token && instance->commit_token == commit.token) {
      result.outcome = CommitOutcome::already_committed;
      return result;
    }
  }
  const auto* held = std::get_if<HeldLease>(&commit.basis);
  if (held != nullptr) {
    if (!instance || instance->lease_token != held->token || !instance->leased(time)) {
      result.outcome = CommitOutcome::lease_lost;
      return result;
    }
  } else if (!instance || !may_take(time, *instance, std::get<ConditionalLease>(commit.basis))) {
    fail_condition(time, commit, result, notices);
    return result;
  }
  if (!continues(commit, *instance)) {
    const bool acks_hold = std::ranges::all_of(
        commit.activity_acks, [&](const ActivityAck& ack) { return workers_.is_held(time, ack.lease); });
    if (acks_hold) {
      result.outcome = CommitOutcome::invalid;
      result.message = providers::turn_does_not_fit;
    } else {
      fail_condition(time, commit, result, notices);
    }
    return result;
  }
  if (!finish_work(time, commit, result, notices)) return result;

  if (held != nullptr) queue_.erase_fetched(instance->key, held->token);
  EventId last = instance->last_event_id;
  if (starts_next_execution(commit, *instance)) {
    instances_.archive_execution(instance->key);
    last = {};
  }
  const InstanceChange& change = commit.change;
  instances_.update(time, instance->key, commit, last_event(commit, last));
  if (change.failure) instances_.set_failure(instance->key, *change.failure);
  if (change.parent) instances_.set_parent(instance->key, *change.parent);
  store_status_and_key_values(change, instance->key, instance->has_key_values);
  if (!commit.events.empty()) {
    instances_.append_history(instance->key, commit.execution, commit.events.front().id,
                              commit.events.back().id, events);
  }
  store_work(time, commit, instance->key, result, notices);
  return result;
}

bool TurnWriter::may_take(const TransactionTime& time, const InstanceRow& instance,
                          const ConditionalLease& condition) {
  return !instance.leased(time) && !is_final(instance.status) &&
         instance.last_event_id == condition.last_event_id && !has_visible_message(time, instance.key);
}

bool TurnWriter::has_visible_message(const TransactionTime& time, Incarnation key) {
  const auto first = queue_.first_visible_at(key);
  return first && *first <= time.now;
}

/// Deletes the worker rows whose completions caused this turn. If one of them is gone, it acknowledges the
/// others separately and returns false: the turn must not be stored.
bool TurnWriter::finish_work(const TransactionTime& time, const TurnCommit& commit, CommitResult& result,
                             providers::Notices& notices) {
  for (std::size_t i = 0; i < commit.activity_acks.size(); ++i) {
    if (workers_.finish(time, commit.activity_acks[i].lease)) continue;
    for (std::size_t done = 0; done < i; ++done) {
      delivery_.enqueue_completion(time, commit.activity_acks[done], notices);
      result.acks.emplace_back();
    }
    result.outcome = CommitOutcome::condition_failed;
    result.acks.push_back(delivery_.refusal(time, commit.activity_acks[i].lease));
    for (std::size_t rest = i + 1; rest < commit.activity_acks.size(); ++rest) {
      result.acks.push_back(delivery_.acknowledge(time, commit.activity_acks[rest], notices));
    }
    return false;
  }
  return true;
}

void TurnWriter::fail_condition(const TransactionTime& time, const TurnCommit& commit, CommitResult& result,
                                providers::Notices& notices) {
  result.outcome = CommitOutcome::condition_failed;
  for (const ActivityAck& ack : commit.activity_acks)
    result.acks.push_back(delivery_.acknowledge(time, ack, notices));
}

void TurnWriter::send(const TransactionTime& time, const TurnCommit& commit, CommitResult& result,
                      providers::Notices& notices) {
  if (result.outcome != CommitOutcome::committed) return;
  const Incarnation key = result.incarnation;
  send_messages(time, commit, result, notices);
  remove_messages(commit, key);
  // Messages that arrived during the lease wait for the next turn.
  const bool held = std::holds_alternative<HeldLease>(commit.basis);
  if (held && !notices.turns_ready && !is_final(commit.change.status)) {
    notices.turns_ready = has_visible_message(time, key);
  }
}

/// Costs nothing for an instance without key-values whose turn changes none.
void TurnWriter::store_status_and_key_values(const InstanceChange& change, Incarnation key,
                                             bool has_key_values) {
  if (change.custom_status) instances_.set_custom_status(key, *change.custom_status);
  if (!change.key_values.empty()) {
    if (!has_key_values) instances_.mark_key_values(key);
    has_key_values = true;
    for (const KeyValueChange& entry : change.key_values) key_values_.apply(key, entry);
  }
  const bool ends_execution = is_final(change.status) || change.status == Status::continued_as_new;
  if (has_key_values && ends_execution) key_values_.settle(key);
}

/// Changes the worker queue: inserts the new activities, then deletes the cancelled ones.
void TurnWriter::store_work(const TransactionTime& time, const TurnCommit& commit, Incarnation key,
                            CommitResult& result, providers::Notices& notices) {
  insert_activities(time, commit, key, notices);
  workers_.cancel(time, key, commit.execution, commit.cancelled_activities, commit.node, result.stolen);
  if (commit.cancel_rest) {
    workers_.cancel_execution(time, key, commit.execution, *commit.cancel_rest, commit.node, result.stolen);
  }
  for (const StolenLease& stolen : result.stolen) {
    if (stolen.owner != commit.node) notices.stolen.push_back(stolen);
  }
  notices.instances.push_back({commit.instance, commit.change.status, commit.node});
}

void TurnWriter::insert_activities(const TransactionTime& time, const TurnCommit& commit, Incarnation key,
                                   providers::Notices& notices) {
  // An activity scheduled and cancelled in one turn is never inserted, and no lease is stolen.
  if (commit.cancel_rest || commit.new_activities.empty()) return;
  std::unordered_set<EventId> cancelled;
  for (const CancelledActivity& entry : commit.cancelled_activities) cancelled.insert(entry.activity);
  for (const NewActivity& item : commit.new_activities) {
    if (cancelled.contains(item.request.key.activity)) continue;
    workers_.insert(time, key, commit, item);
    if (!item.born_leased) notices.activities_ready = true;
  }
}

void TurnWriter::send_messages(const TransactionTime& time, const TurnCommit& commit, CommitResult& result,
                               providers::Notices& notices) {
  const Incarnation key = result.incarnation;
  const bool fused = std::holds_alternative<FusedStart>(commit.basis);
  for (const OutboundMessage& message : commit.messages) {
    if (std::holds_alternative<message::TimerFired>(message.body) && message.target == commit.instance) {
      // The usual case, a timer of this instance: no query is needed. A final turn has none.
      if (!is_final(commit.change.status)) {
        queue_.insert(time, key, message.target, message.body, message.visible_at, notices);
      }
    } else if (fused) {
      OutboundMessage completed = message;
      if (auto* start = std::get_if<message::StartOrchestration>(&completed.body)) {
        fill_in(start->parent, commit.instance, key);
      } else if (auto* cancel_child = std::get_if<message::CancelInstance>(&completed.body)) {
        fill_in(cancel_child->parent, commit.instance, key);
      }
      if (completed.if_refused) {
        auto* failed = std::get_if<message::SubOrchestrationFailed>(&*completed.if_refused);
        if (failed != nullptr) fill_in(failed->parent, commit.instance, key);
      }
      send_message(time, commit, result, completed, notices);
    } else {
      send_message(time, commit, result, message, notices);
    }
  }
}

void TurnWriter::send_message(const TransactionTime& time, const TurnCommit& commit, CommitResult& result,
                              const OutboundMessage& message, providers::Notices& notices) {
  const EnqueueOutcome outcome = delivery_.deliver(time, message, notices);
  const bool refused = outcome == EnqueueOutcome::duplicate &&
                       std::holds_alternative<message::StartOrchestration>(message.body);
  if (refused && !message.if_refused) result.refused_starts.push_back(message.target);
  if (!refused || !message.if_refused || is_final(commit.change.status)) return;
  queue_.insert(time, result.incarnation, commit.instance, *message.if_refused, {}, notices);
}

void TurnWriter::remove_messages(const TurnCommit& commit, Incarnation key) {
  if (is_final(commit.change.status)) {
    queue_.erase_all(key);
  } else if (commit.cancel_rest) {
    queue_.erase_timers(key, commit.execution);
  } else {
    for (const EventId timer : commit.dropped_timers) queue_.erase_timer(key, commit.execution, timer);
  }
}

}  // namespace duramen::inline v0::sqlite::detail
