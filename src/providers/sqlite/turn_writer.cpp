#include "providers/sqlite/turn_writer.hpp"

#include "providers/common/invalid_turn.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace duramen::inline v0::sqlite::detail {

namespace {

bool numbered_after(const TurnCommit& commit, EventId last) {
  return std::ranges::all_of(commit.events, [&](const Event& event) {
    last = last.next();
    return event.id == last;
  });
}

bool starts_next_execution(const TurnCommit& commit, const InstanceRow& instance) {
  return instance.status == Status::continued_as_new && commit.execution == instance.execution.next();
}

/// True if the turn can be stored: its events continue the stored history.
bool continues(const TurnCommit& commit, const InstanceRow& instance) {
  if (providers::problem_of(commit) != nullptr) return false;
  if (starts_next_execution(commit, instance)) return numbered_after(commit, {});
  return commit.execution == instance.execution && numbered_after(commit, instance.last_event_id);
}

bool is_first_turn(const TurnCommit& commit) {
  return providers::problem_of(commit) == nullptr && commit.execution == ExecutionId{1} &&
         commit.activity_acks.empty() && numbered_after(commit, {});
}

/// Adds the incarnation of the instance, which a fused first turn could not know.
void fill_in(ParentLink& link, const InstanceId& instance, Incarnation key) {
  if (link.instance == instance && !link.incarnation) link.incarnation = key;
}
void fill_in(std::optional<ParentLink>& link, const InstanceId& instance, Incarnation key) {
  if (link) fill_in(*link, instance, key);
}

bool is_own_timer(const TurnCommit& commit, const OutboundMessage& message) {
  return std::holds_alternative<message::TimerFired>(message.body) && message.target == commit.instance;
}

/// The beginning of the next execution of the committing instance.
const message::ContinueAsNew* own_beginning(const TurnCommit& commit, const OutboundMessage& message) {
  return message.target == commit.instance ? std::get_if<message::ContinueAsNew>(&message.body) : nullptr;
}

/// Applies the turn to the row of its instance.
void apply(const TurnCommit& commit, InstanceRow& row) {
  const InstanceChange& change = commit.change;
  const bool first_turn = commit.execution != row.execution || !row.last_event_id;
  if (commit.execution != row.execution) row.last_event_id = {};
  row.execution = commit.execution;
  row.status = change.status;
  if (change.version) row.version = *change.version;
  row.engine_version = change.engine_version;
  if (first_turn && !commit.events.empty()) row.graceful = change.graceful;
  row.cancel_asked = std::max(row.cancel_asked, change.cancel_asked);
  row.commit_token = commit.token;
  if (!commit.events.empty()) {
    row.last_event_id = commit.events.back().id;
    row.replay_token = commit.token;
  }
  if (change.status == Status::continued_as_new) {
    for (const OutboundMessage& message : commit.messages) {
      if (const auto* next = own_beginning(commit, message)) row.asked_version = next->version;
    }
  }
  row.lease_token = {};
  row.attempt = 0;
  row.entry_place.reset();
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
  std::optional<std::string> asked_version = fused.request.start.version;
  for (const OutboundMessage& message : commit.messages) {
    if (duramen::detail::mutant("a_fused_continue_as_new_asks_for_its_old_version")) break;
    if (const auto* next = own_beginning(commit, message)) asked_version = next->version;
  }
  const NewInstance instance{
      .id = commit.instance,
      .start = fused.request.start,
      .status = change.status,
      .version = change.version ? std::string_view(*change.version) : std::string_view{},
      .asked_version = asked_version,
      .last_event_id = commit.events.empty() ? EventId{} : commit.events.back().id,
      .engine_version = change.engine_version,
      .graceful = change.graceful,
      .cancel_asked = change.cancel_asked,
      .commit_token = commit.token,
      .replay_token = commit.events.empty() ? CommitToken{} : commit.token,
      .output = &change.output,
      .parent = change.parent ? &change.parent : nullptr};
  CommitResult result;
  const bool fits = is_first_turn(commit);
  // Inserting first saves a query in the usual case that the id is free.
  std::optional<InstanceRow> row;
  if (fits) row = instances_.insert(time, numbers_, instance);
  if (!row) {
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
      result.message = providers::reason_of_invalid(commit);
      return result;
    }
    row = instances_.insert(time, numbers_, instance);
  }
  const Incarnation key = row->key;
  result.incarnation = key;
  if (!commit.events.empty()) instances_.append_history(key, commit, events);
  if (change.failure) instances_.set_failure(key, *change.failure);
  store_status_and_key_values(change, key, false);
  store_work(time, commit, key, result, notices);
  store_own_messages(time, commit, *row, notices);
  parked_.move_to(time, commit.instance, *row, queue_, notices);
  if (is_final(change.status)) queue_.erase_all(key);
  return result;
}

CommitResult TurnWriter::commit_turn(const TransactionTime& time, const TurnCommit& commit,
                                     std::string_view events, providers::Notices& notices) {
  CommitResult result;
  auto instance = instances_.find(commit.incarnation);
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
      result.message = providers::reason_of_invalid(commit);
    } else {
      fail_condition(time, commit, result, notices);
    }
    return result;
  }
  if (!finish_work(time, commit, result, notices)) return result;

  const Incarnation key = instance->key;
  std::optional<std::int64_t> old_entry;
  if (held != nullptr) {
    const auto took = [&](std::optional<std::int64_t> place) {
      return place && std::ranges::find(held->taken, *place) != held->taken.end();
    };
    queue_.erase(key, held->taken);
    if (took(instance->cancel_place)) instance->cancel_place.reset();
    if (!took(instance->entry_place)) old_entry = instance->entry_place;
  }
  if (starts_next_execution(commit, *instance)) instances_.archive_execution(key);
  apply(commit, *instance);
  const InstanceChange& change = commit.change;
  instances_.update(time, *instance, change);
  if (change.failure) instances_.set_failure(key, *change.failure);
  store_status_and_key_values(change, key, instance->has_key_values);
  if (!commit.events.empty()) instances_.append_history(key, commit, events);
  store_work(time, commit, key, result, notices);
  store_own_messages(time, commit, *instance, notices);
  // The queue of an instance that ends is erased when its children are born, see send().
  if (is_final(change.status)) {
    if (duramen::detail::mutant("a_last_turn_forgets_the_queued_cancel")) queue_.erase_all(key);
  } else if (held != nullptr) {
    // Messages that arrived during the lease wait for the next turn.
    if (queue_.promote(time, *instance, old_entry)) notices.turns_ready = true;
  } else if (!commit.dropped_timers.empty()) {
    queue_.watch_first_timer(key);
  }
  return result;
}

bool TurnWriter::may_take(const TransactionTime& time, const InstanceRow& instance,
                          const ConditionalLease& condition) {
  return !instance.leased(time) && !is_final(instance.status) &&
         instance.last_event_id == condition.last_event_id &&
         (!condition.replay_token || instance.replay_token == condition.replay_token) &&
         !instance.entry_place && !queue_.any_takeable(time, instance.key);
}

/// Messages of the instance to itself that need no other instance. Others may be sent to it afterwards.
void TurnWriter::store_own_messages(const TransactionTime& time, const TurnCommit& commit,
                                    InstanceRow& instance, providers::Notices& notices) {
  const Incarnation key = instance.key;
  if (is_final(commit.change.status)) return;  // it gets no more
  std::optional<std::string> beginning;
  for (const OutboundMessage& message : commit.messages) {
    if (is_own_timer(commit, message)) {
      queue_.insert_timer(time, key, std::get<message::TimerFired>(message.body), notices);
    } else if (own_beginning(commit, message) != nullptr) {
      beginning = to_json(message.body, commit.instance);
    }
  }
  if (commit.cancel_rest) {
    queue_.erase_timers(key, commit.execution);
  } else {
    for (const EventId timer : commit.dropped_timers) queue_.erase_timer(key, timer);
  }
  if (!beginning) return;
  std::int64_t place = queue_.first_free_places(key, 1 + commit.put_back.size());
  queue_.insert_at(key, place, *beginning);
  // Encoded one by one: there may be very much.
  for (const MessageBody& body : commit.put_back)
    queue_.insert_at(key, ++place, to_json(body, commit.instance));
  // A commit under a lease promotes as its last step.
  if (!std::holds_alternative<HeldLease>(commit.basis)) (void)queue_.promote(time, instance, std::nullopt);
  notices.turns_ready = true;
}

/// Deletes the worker rows whose completions caused this turn. If one of them is gone, it acknowledges the
/// others separately and returns false: the turn must not be stored.
bool TurnWriter::finish_work(const TransactionTime& time, const TurnCommit& commit, CommitResult& result,
                             providers::Notices& notices) {
  std::vector<std::optional<Payload>> heartbeats;
  for (std::size_t i = 0; i < commit.activity_acks.size(); ++i) {
    heartbeats.push_back(delivery_.heartbeat_of(commit.activity_acks[i]));
    if (workers_.finish(time, commit.activity_acks[i].lease)) continue;
    for (std::size_t done = 0; done < i; ++done) {
      delivery_.enqueue_completion(time, commit.activity_acks[done], std::move(heartbeats[done]), notices);
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

void TurnWriter::send(const TransactionTime& time, const TurnCommit& commit, CommitResult& result,
                      providers::Notices& notices) {
  if (result.outcome != CommitOutcome::committed) return;
  const Incarnation key = result.incarnation;
  const bool fused = std::holds_alternative<FusedStart>(commit.basis);
  for (const OutboundMessage& message : commit.messages) {
    if (is_own_timer(commit, message) || own_beginning(commit, message) != nullptr) continue;
    if (!fused) {
      send_message(time, commit, result, message, notices);
      continue;
    }
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
  }
  if (!fused && is_final(commit.change.status)) queue_.erase_all(key);
}

void TurnWriter::send_message(const TransactionTime& time, const TurnCommit& commit, CommitResult& result,
                              const OutboundMessage& message, providers::Notices& notices) {
  const auto* start = std::get_if<message::StartOrchestration>(&message.body);
  if (start == nullptr) {
    (void)delivery_.deliver(time, message, notices);
    return;
  }
  const bool is_child = start->parent && start->parent->instance == commit.instance;
  const auto cancel = is_child ? queued_cancel(*start, result.incarnation) : std::nullopt;
  if (delivery_.deliver_start(time, message, *start, cancel, notices)) return;
  if (!message.if_refused) {
    result.refused_starts.push_back(message.target);
  } else if (!is_final(commit.change.status)) {
    (void)delivery_.deliver(time, {.target = commit.instance, .body = *message.if_refused}, notices);
  }
}

/// A cancel that waits in the queue of a parent: a child that it starts now is born with it, because the turn
/// that takes the cancel may not know the child.
std::optional<message::CancelInstance> TurnWriter::queued_cancel(const message::StartOrchestration& child,
                                                                 Incarnation parent) {
  if (duramen::detail::mutant("a_child_is_born_without_the_cancel")) return std::nullopt;
  if (!instances_.has_queued_cancel(parent)) return std::nullopt;
  const auto row = instances_.find(parent);
  message::CancelInstance cancel{.mode = row->cancel_asked.value_or(CancelMode::graceful),
                                 .origin = CancelOrigin::parent,
                                 .parent = child.parent};
  if (const auto item = queue_.item_at(parent, *row->cancel_place)) {
    if (const auto body = message_from_json(*item, child.parent->instance)) {
      if (const auto* queued = std::get_if<message::CancelInstance>(&*body)) {
        cancel.reason = queued->reason;
        cancel.mode = queued->mode;
        cancel.requested_by = queued->requested_by;
      }
    }
  }
  return cancel;
}

}  // namespace duramen::inline v0::sqlite::detail
