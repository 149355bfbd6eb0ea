#include "testing/simulation/ledger.hpp"

#include "core/matching.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>

namespace duramen::inline v0::testing {

namespace {

constexpr std::size_t enough = 20;

std::string text(EventId id) { return std::to_string(id.value); }
std::string text(const ActivityKey& key) {
  return "activity " + text(key.activity) + " of incarnation " + std::to_string(key.incarnation.value);
}

}  // namespace

void Violations::add(std::string what) {
  if (list_.size() < enough && std::ranges::find(list_, what) == list_.end())
    list_.push_back(std::move(what));
}

// -- instances ------------------------------------------

void Ledger::create(const InstanceId& instance) {
  all_.insert(instance);
  open_.insert(instance);
}

void Ledger::started(const StartRequest& request, StartOutcome outcome) {
  const bool exists = all_.contains(request.instance);
  if (outcome == StartOutcome::created) {
    if (exists) violations_.add("instance " + request.instance.value + " was created twice");
    create(request.instance);
  } else if (!exists) {
    violations_.add("the start of " + request.instance.value + " was refused, but no such instance exists");
  }
}

void Ledger::enqueued(const OutboundMessage& message, EnqueueOutcome outcome) {
  if (outcome == EnqueueOutcome::finished && open_.contains(message.target)) {
    violations_.add("instance " + message.target.value + " has not ended, but a message to it was refused");
  }
  if (outcome != EnqueueOutcome::enqueued && outcome != EnqueueOutcome::parked) return;
  if (const auto* event = std::get_if<message::ExternalRaised>(&message.body)) {
    sent_[message.target][{CarriedEvent::Kind::external, event->name}].push_back({event->data});
  } else if (const auto* queued = std::get_if<message::QueueMessage>(&message.body)) {
    sent_[message.target][{CarriedEvent::Kind::queue, queued->name}].push_back({queued->data});
  }
}

// -- messages ------------------------------------------

void Ledger::deliver(const InstanceId& instance, const Event& event) {
  if (const auto* external = std::get_if<event::ExternalEvent>(&event.body)) {
    deliver(instance, {CarriedEvent::Kind::external, external->name, external->data}, false);
  } else if (const auto* queued = std::get_if<event::QueueEventDelivered>(&event.body)) {
    deliver(instance, {CarriedEvent::Kind::queue, queued->name, queued->data}, false);
  } else if (const auto* started = std::get_if<event::OrchestrationStarted>(&event.body)) {
    for (const CarriedEvent& carried : started->carry_forward) deliver(instance, carried, true);
  }
}

/// Each message is delivered once, after all messages accepted before it. An execution carries every message
/// that it did not take to the next one.
void Ledger::deliver(const InstanceId& instance, const CarriedEvent& message, bool carried) {
  std::vector<Sent>& sent = sent_[instance][{message.kind, message.name}];
  const auto is_next = [](const Sent& entry) { return !entry.delivered; };
  const auto is_it = [&](const Sent& entry) { return entry.data == message.data; };
  const auto next = std::ranges::find_if(sent, is_next);
  const auto found =
      std::ranges::find_if(sent, [&](const Sent& entry) { return is_next(entry) && is_it(entry); });
  const std::string what =
      "message " + message.data.data + " of \"" + message.name + "\" to " + instance.value;
  if (found == sent.end()) {
    if (!carried || std::ranges::none_of(sent, is_it))
      violations_.add(what + " was delivered more often than sent");
    return;
  }
  if (found != next) violations_.add(what + " overtook an earlier message");
  found->delivered = true;
}

std::size_t Ledger::undelivered(const InstanceId& instance) const {
  const auto boxes = sent_.find(instance);
  if (boxes == sent_.end()) return 0;
  std::size_t count = 0;
  for (const auto& [name, sent] : boxes->second) {
    count += static_cast<std::size_t>(std::ranges::count(sent, false, &Sent::delivered));
  }
  return count;
}

// -- turns ------------------------------------------

void Ledger::fetched(const TurnFetch& request, const LeasedInstance& item) {
  Known& known = known_[item.incarnation];
  known.id = item.instance;
  if (live(known.lease)) {
    violations_.add("instance " + item.instance.value + " was leased to " + request.node.value + " while " +
                    known.lease.node.value + " holds it");
  }
  known.lease = {item.lease, request.node, item.lease_until};
  const EventId last = known.executions[item.execution].last;
  if (item.last_event_id != last) {
    violations_.add("instance " + item.instance.value + " was fetched at event " + text(item.last_event_id) +
                    ", but its history ends at " + text(last));
  }
  for (const InboxMessage& message : item.messages) {
    const auto* timer = std::get_if<message::TimerFired>(&message.body);
    if (timer && timer->fire_at > clock_.now()) {
      violations_.add("timer " + text(timer->id) + " of " + item.instance.value + " fired before its time");
    }
  }
}

void Ledger::committed(const TurnCommit& commit, const CommitResult& result) {
  switch (result.outcome) {
    case CommitOutcome::committed: {
      if (std::holds_alternative<FusedStart>(commit.basis)) {
        started(std::get<FusedStart>(commit.basis).request, StartOutcome::created);
      }
      Known& known = known_[result.incarnation];
      known.id = commit.instance;
      return stored(commit, result, known);
    }
    case CommitOutcome::already_committed:
      if (!known_[result.incarnation].tokens.contains(commit.token)) {
        violations_.add("a turn of " + commit.instance.value +
                        " is answered already_committed, but was not stored");
      }
      return;
    case CommitOutcome::condition_failed:
      for (std::size_t i = 0; i < commit.activity_acks.size(); ++i)
        acknowledged(commit.activity_acks[i], result.acks.at(i));
      return;
    case CommitOutcome::start_refused:
      if (const auto* fused = std::get_if<FusedStart>(&commit.basis)) started(fused->request, result.start);
      return;
    case CommitOutcome::invalid:
      violations_.add("the store answered that a turn of " + commit.instance.value + " is invalid");
      return;
    case CommitOutcome::lease_lost:
      return;
  }
}

void Ledger::stored(const TurnCommit& commit, const CommitResult& result, Known& known) {
  if (!known.tokens.insert(commit.token).second) {
    violations_.add("a turn of " + commit.instance.value + " was stored twice");
  }
  if (const auto* held = std::get_if<HeldLease>(&commit.basis)) {
    if (!live(known.lease) || known.lease.token != held->token) {
      violations_.add("a turn of " + commit.instance.value + " was stored under a lease that " +
                      commit.node.value + " does not hold");
    }
    known.lease = {};
  } else if (live(known.lease)) {
    violations_.add("a turn of " + commit.instance.value + " was stored by " + commit.node.value + " while " +
                    known.lease.node.value + " holds the instance");
  }
  for (const ActivityAck& ack : commit.activity_acks) acknowledged(ack, {});
  append(commit, result.incarnation, known);
  for (const OutboundMessage& message : commit.messages) {
    const bool begins = std::holds_alternative<message::StartOrchestration>(message.body);
    if (begins && !all_.contains(message.target)) create(message.target);
  }

  std::set<EventId> cancelled;
  for (const CancelledActivity& entry : commit.cancelled_activities) cancelled.insert(entry.activity);
  for (const NewActivity& item : commit.new_activities) {
    if (commit.cancel_rest || cancelled.contains(item.request.key.activity)) continue;
    const ActivityKey key{result.incarnation, commit.execution, item.request.key.activity};
    Held row;
    if (item.born_leased) row = {*item.born_leased, commit.node, clock_.lease_now() + commit.activity_lease};
    rows_[key] = row;
  }
  for (const CancelledActivity& entry : commit.cancelled_activities) {
    take_back({result.incarnation, commit.execution, entry.activity}, entry.reason, result);
  }
  if (commit.cancel_rest) {
    auto row = rows_.lower_bound({result.incarnation, commit.execution, {}});
    while (row != rows_.end() && row->first.incarnation == result.incarnation &&
           row->first.execution == commit.execution) {
      const ActivityKey key = (row++)->first;
      take_back(key, *commit.cancel_rest, result);
    }
  }
}

/// The events of a turn continue history, end an execution once, and complete each schedule once.
void Ledger::append(const TurnCommit& commit, Incarnation incarnation, Known& known) {
  Execution& execution = known.executions[commit.execution];
  for (std::size_t i = 0; i < commit.events.size(); ++i) {
    const Event& event = commit.events[i];
    const std::string where = "event " + text(event.id) + " of " + commit.instance.value + " (" +
                              std::string(event_type(event)) + ")";
    if (event.id != execution.last.next())
      violations_.add(where + " comes after event " + text(execution.last));
    if (execution.ended) violations_.add(where + " comes after the end");
    execution.last = event.id;
    deliver(commit.instance, event);
    const EventClass kind = event_class(event);
    if (kind == EventClass::terminal) execution.ended = true;
    if (kind == EventClass::action) execution.schedules[event.id] = Progress::open;
    if (!event.source) continue;
    const auto schedule = execution.schedules.find(event.source);
    if (schedule == execution.schedules.end()) {
      violations_.add(where + " belongs to event " + text(event.source) + ", which scheduled nothing");
      continue;
    }
    if (kind == EventClass::cancel) {
      if (schedule->second != Progress::open) violations_.add(where + " cancels a schedule that is not open");
      schedule->second = Progress::cancelled;
      continue;
    }
    if (schedule->second == Progress::closed) violations_.add(where + " completes a second time");
    schedule->second = Progress::closed;
    // The turn itself records the values of new_guid() and utc_now().
    if (core::completes_recorded_value(commit.events, i) && !detail::mutant("simulation_distrusts_new_guid"))
      continue;
    complete({incarnation, commit.execution, event.source}, event);
  }
  if (is_final(commit.change.status)) {
    open_.erase(commit.instance);
    if (!execution.ended) violations_.add(commit.instance.value + " ended without a terminal event");
  } else if (execution.ended && commit.change.status != Status::continued_as_new) {
    violations_.add(commit.instance.value + " has a terminal event but has not ended");
  }
}

/// A result in history was accepted from the holder of the row, and never from a cancelled attempt.
void Ledger::complete(const ActivityKey& key, const Event& event) {
  std::variant<Payload, Failure> result;
  if (const auto* completed = std::get_if<event::ActivityCompleted>(&event.body)) {
    result = completed->result;
  } else if (const auto* failed = std::get_if<event::ActivityFailed>(&event.body)) {
    result = failed->details;
  } else {
    return;
  }
  const auto accepted = accepted_.find(key);
  if (accepted == accepted_.end()) {
    violations_.add(text(key) + " has a result in history that was never accepted");
  } else if (accepted->second != result) {
    violations_.add(text(key) + " has another result in history than the accepted one");
  }
}

void Ledger::take_back(const ActivityKey& key, CancelReason reason, const CommitResult& result) {
  const auto row = rows_.extract(key);
  if (!row) return;
  const bool held = live(row.mapped());
  const bool reported = std::ranges::any_of(result.stolen, [&](const StolenLease& stolen) {
    return stolen.lease.key == key && stolen.lease.token == row.mapped().token && stolen.reason == reason;
  });
  if (held != reported)
    violations_.add(text(key) + (held ? " was stolen from its holder without a report"
                                      : " was reported as stolen without a holder"));
  cancelled_[key] = {reason, clock_.lease_now(), held ? std::optional(row.mapped().node) : std::nullopt};
}

void Ledger::released(const TurnRelease& entry) {
  Known& known = known_[entry.lease.incarnation];
  if (known.lease.token == entry.lease.token) known.lease = {};
}

void Ledger::renewed(const TurnLease& lease, Duration extend, bool held) {
  Known& known = known_[lease.incarnation];
  const bool ours = live(known.lease) && known.lease.token == lease.token;
  if (ours != held) violations_.add("a turn lease of " + known.id.value + " was renewed wrongly");
  if (held) known.lease.until = clock_.lease_now() + extend;
}

// -- activities ------------------------------------------

bool Ledger::holds(const ActivityLease& lease) const {
  const auto row = rows_.find(lease.key);
  return row != rows_.end() && row->second.token == lease.token && live(row->second);
}

void Ledger::fetched(const ActivityFetch& request, const LeasedActivity& item) {
  const auto row = rows_.find(item.lease.key);
  if (row == rows_.end()) {
    violations_.add(text(item.lease.key) + " was fetched, but has no row");
    return;
  }
  if (live(row->second)) {
    violations_.add(text(item.lease.key) + " was leased to " + request.node.value + " while " +
                    row->second.node.value + " holds it");
  }
  row->second = {item.lease.token, request.node, item.lease_until};
}

void Ledger::acknowledged(const ActivityAck& ack, const AckResult& result) {
  const bool held = holds(ack.lease);
  const bool done = result.outcome == AckOutcome::done;
  if (done && !held) violations_.add(text(ack.lease.key) + " was acknowledged under a lease that is over");
  if (!done && held) violations_.add(text(ack.lease.key) + " was refused although its holder sent it");
  if (!done) return;
  rows_.erase(ack.lease.key);
  if (ack.completion && !accepted_.emplace(ack.lease.key, *ack.completion).second) {
    violations_.add(text(ack.lease.key) + " was accepted twice");
  }
}

void Ledger::released(const ActivityRelease& entry) {
  if (holds(entry.lease)) rows_[entry.lease.key] = {};
}

void Ledger::renewed(const ActivityLease& lease, Duration extend, const RenewResult& result) {
  const bool held = holds(lease);
  const bool renewed = result.outcome == RenewOutcome::renewed;
  if (held != renewed) {
    violations_.add(text(lease.key) +
                    (held ? " was refused a renewal of its lease" : " was renewed without a lease"));
  }
  if (held && renewed) rows_[lease.key].until = clock_.lease_now() + extend;
}

}  // namespace duramen::inline v0::testing
