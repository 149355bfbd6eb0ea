#include "testing/memory_state.hpp"

#include <algorithm>
#include <limits>

namespace duramen::inline v0::testing {
namespace {

bool wanted(const std::optional<std::vector<std::string>>& names, const std::string& name) {
  return !names || std::ranges::find(*names, name) != names->end();
}

bool wanted(const OrchestrationFetch& request, const Instance& instance) {
  const bool supported =
      !instance.engine_version || (*instance.engine_version >= request.min_engine_version &&
                                   *instance.engine_version <= request.max_engine_version);
  if (!supported || !request.orchestrations) return supported;
  // Once a turn has resolved the version, the node must have that very one.
  const bool resolved =
      instance.info.status != Status::pending && instance.info.status != Status::continued_as_new;
  return std::ranges::any_of(*request.orchestrations, [&](const RegisteredOrchestration& known) {
    return known.name == instance.info.name &&
           (!resolved || known.versions.empty() ||
            std::ranges::find(known.versions, instance.info.version) != known.versions.end());
  });
}

void lower(std::optional<TimePoint>& earliest, TimePoint t) {
  if (!earliest || t < *earliest) earliest = t;
}

/// A child's answer names the instance that asked, not one of the same name that came after it.
bool is_for(const WorkItem& item, Incarnation incarnation) {
  if (const auto* done = std::get_if<work::SubOrchCompleted>(&item))
    return done->parent.incarnation == incarnation;
  if (const auto* failed = std::get_if<work::SubOrchFailed>(&item))
    return failed->parent.incarnation == incarnation;
  return true;
}

/// Things on a second attempt may be what brought the process down: they are handed out alone, when they are
/// the longest waiting; until then those behind them go first.
template <class T, class IsRetry>
void keep_first_batch(std::vector<T*>& ready, std::size_t limit, IsRetry is_retry) {
  if (ready.empty()) return;
  if (is_retry(*ready.front())) {
    ready.resize(std::min<std::size_t>(limit, 1));
  } else {
    std::erase_if(ready, [&](const T* candidate) { return is_retry(*candidate); });
    ready.resize(std::min(ready.size(), limit));
  }
}

}  // namespace

MemoryState::MemoryState(const Clock& c, MemoryOptions o) : clock(c), options(o), random_(o.seed) {}

// -- instances and messages
// ------------------------------------------------------------------------------------------

Instance* MemoryState::find(const InstanceId& id) {
  const auto name = names_.find(id);
  return name == names_.end() ? nullptr : find(name->second);
}

Instance* MemoryState::find(Incarnation incarnation) {
  const auto found = instances_.find(incarnation);
  return found == instances_.end() ? nullptr : &found->second;
}

bool MemoryState::has_visible_message(const Instance& instance) const {
  const TimePoint now = clock.now();
  return !instance.inbox.empty() && instance.inbox.begin()->first.visible_at <= now &&
         instance.not_before <= now;
}

/// Why a start cannot create its instance; absent if it can.
std::optional<StartOutcome> MemoryState::refusal(const StartRequest& request) {
  const Instance* taken = find(request.instance);
  if (!taken) return std::nullopt;
  if (request.reuse == IdReuse::replace_when_final && is_final(taken->info.status)) return std::nullopt;
  const bool repeat =
      taken->start.orchestration == request.start.orchestration && taken->start.input == request.start.input;
  return repeat ? StartOutcome::exists : StartOutcome::conflict;
}

StartOutcome MemoryState::start(const StartRequest& request) {
  if (const auto refused = refusal(request)) return *refused;
  Instance& instance = create(request.instance, request.start);
  enqueue(instance, request.start, {});
  // What was parked comes after the start.
  if (auto parked = parked_.extract(request.instance)) {
    for (auto& entry : parked.mapped()) deliver(entry.message);
  }
  return StartOutcome::created;
}

/// A pending instance without messages; one that had the id is gone.
Instance& MemoryState::create(const InstanceId& id, const work::StartOrchestration& start) {
  if (const Instance* old = find(id)) erase(*old);
  last_incarnation_ = last_incarnation_.next();
  names_[id] = last_incarnation_;
  Instance& instance = instances_[last_incarnation_];
  instance.info.instance = id;
  instance.info.incarnation = last_incarnation_;
  instance.info.name = start.orchestration;
  instance.info.execution = ExecutionId{1};
  instance.info.created_at = instance.info.updated_at = clock.now();
  instance.info.parent = start.parent;
  instance.start = start;
  return instance;
}

void MemoryState::erase(const Instance& instance) {
  const Incarnation incarnation = instance.info.incarnation;
  auto row = work_.lower_bound(ActivityKey{incarnation, {}, {}});
  while (row != work_.end() && row->first.incarnation == incarnation) {
    const ActivityKey key = (row++)->first;
    if (auto stolen = remove_row(key, CancelReason::instance_deleted, {})) news.stolen.push_back(*stolen);
  }
  names_.erase(instance.info.instance);
  instances_.erase(incarnation);
}

void MemoryState::enqueue(Instance& target, WorkItem item, TimePoint visible_at) {
  const QueuePosition position{std::max(visible_at, clock.now()), ++last_arrival_};
  target.inbox.emplace(position, QueuedMessage{std::move(item), 0, {}});
  if (has_visible_message(target)) news.orchestrator_work = true;
}

EnqueueOutcome MemoryState::deliver(const OutboundMessage& message) {
  sweep();
  if (const auto* start = std::get_if<work::StartOrchestration>(&message.item))
    return deliver_start(message, *start);
  Instance* target = find(message.target);
  if (!target) return park(message);
  if (!is_for(message.item, target->info.incarnation)) return EnqueueOutcome::not_found;
  if (message.message_id && target->message_ids.contains(*message.message_id))
    return EnqueueOutcome::duplicate;
  if (is_final(target->info.status)) return EnqueueOutcome::finished;
  if (message.message_id) target->message_ids.insert(*message.message_id);
  enqueue(*target, message.item, message.visible_at);
  return EnqueueOutcome::enqueued;
}

/// An orchestration starts another one. `duplicate`: the id is taken.
EnqueueOutcome MemoryState::deliver_start(const OutboundMessage& message,
                                          const work::StartOrchestration& start) {
  if (find(message.target)) return EnqueueOutcome::duplicate;
  this->start({.instance = message.target, .start = start});
  find(message.target)->not_before = message.visible_at;
  return EnqueueOutcome::enqueued;
}

EnqueueOutcome MemoryState::park(const OutboundMessage& message) {
  const bool may_wait = std::holds_alternative<work::ExternalRaised>(message.item) ||
                        std::holds_alternative<work::QueueMessage>(message.item);
  if (!may_wait) return EnqueueOutcome::not_found;
  auto& parked = parked_[message.target];
  const auto same = [&](const ParkedMessage& other) {
    return other.message.message_id == message.message_id;
  };
  if (message.message_id && std::ranges::any_of(parked, same)) return EnqueueOutcome::duplicate;
  parked.push_back({message, clock.lease_now() + options.parked_for});
  return EnqueueOutcome::parked;
}

// -- turns
// -----------------------------------------------------------------------------------------------------------

OrchestrationBatch MemoryState::fetch_instances(const OrchestrationFetch& request) {
  const TimePoint now = clock.now();
  OrchestrationBatch batch;
  std::vector<Instance*> ready;
  for (auto& [incarnation, instance] : instances_) {
    if (instance.inbox.empty() || !wanted(request, instance)) continue;
    const auto visible_end = instance.inbox.upper_bound({now, std::numeric_limits<std::uint64_t>::max()});
    if (instance.not_before > now) {
      lower(batch.next_due, std::max(instance.not_before, instance.inbox.begin()->first.visible_at));
    } else if (visible_end != instance.inbox.end()) {
      lower(batch.next_due, visible_end->first.visible_at);
    }
    if (has_visible_message(instance) && !is_live(instance.lease, instance.lease_until))
      ready.push_back(&instance);
  }
  std::ranges::sort(ready, {}, [](const Instance* i) { return i->inbox.begin()->first; });
  keep_first_batch(ready, request.limit, [&](const Instance& instance) {
    return std::ranges::any_of(instance.inbox, [](const auto& entry) { return entry.second.attempts > 0; });
  });

  for (Instance* instance : ready) {
    instance->lease = new_token();
    instance->lease_until = clock.lease_now() + request.lease;
    OrchestrationItem item{.instance = instance->info.instance,
                           .incarnation = instance->info.incarnation,
                           .lease = instance->lease,
                           .lease_until = instance->lease_until,
                           .execution = instance->info.execution,
                           .status = instance->info.status,
                           .name = instance->info.name,
                           .version = instance->info.version,
                           .last_event_id = instance->info.last_event_id,
                           .key_values = instance->settled};
    for (auto& [position, message] : instance->inbox) {
      if (position.visible_at > now) break;
      message.fetched_under = instance->lease;
      item.messages.push_back({message.item, ++message.attempts});
      item.attempt = std::max(item.attempt, message.attempts);
    }
    batch.items.push_back(std::move(item));
  }
  return batch;
}

Instance* MemoryState::find_leased(const TurnLease& lease) {
  Instance* instance = find(lease.incarnation);
  const bool held =
      instance && instance->lease == lease.token && is_live(instance->lease, instance->lease_until);
  return held ? instance : nullptr;
}

void MemoryState::abandon(const TurnAbandon& entry) {
  Instance* instance = find_leased(entry.lease);
  if (!instance) return;
  for (auto& [position, message] : instance->inbox) {
    if (message.fetched_under != entry.lease.token) continue;
    message.fetched_under = {};
    if (!entry.count_attempt) --message.attempts;
  }
  instance->lease = {};
  instance->not_before = entry.delay > Duration{0} ? clock.now() + entry.delay : TimePoint{};
  news.orchestrator_work = true;
}

bool MemoryState::renew(const TurnLease& lease, Duration extend) {
  Instance* instance = find_leased(lease);
  if (instance) instance->lease_until = clock.lease_now() + extend;
  return instance != nullptr;
}

// -- work items
// ------------------------------------------------------------------------------------------------------

WorkBatch MemoryState::fetch_work(const WorkFetch& request) {
  const TimePoint now = clock.now();
  WorkBatch batch;
  std::vector<WorkRow*> ready;
  for (auto& [key, row] : work_) {
    if (is_live(row.lease, row.lease_until) || !wanted(request.names, row.activity.name)) continue;
    if (row.position.visible_at > now) {
      lower(batch.next_due, row.position.visible_at);
    } else {
      ready.push_back(&row);
    }
  }
  std::ranges::sort(ready, {}, [](const WorkRow* row) { return row->position; });
  keep_first_batch(ready, request.limit, [](const WorkRow& row) { return row.attempts > 0; });

  for (WorkRow* row : ready) {
    row->owner = request.node;
    row->lease = new_token();
    row->lease_until = clock.lease_now() + request.lease;
    batch.items.push_back({.activity = row->activity,
                           .lease = {row->activity.key, row->lease},
                           .lease_until = row->lease_until,
                           .attempt = ++row->attempts});
  }
  return batch;
}

WorkRow* MemoryState::find_leased(const WorkLease& lease) {
  const auto row = work_.find(lease.key);
  const bool held = row != work_.end() && row->second.lease == lease.token &&
                    is_live(row->second.lease, row->second.lease_until);
  return held ? &row->second : nullptr;
}

AckResult MemoryState::ack(const WorkAck& ack) {
  if (!find_leased(ack.lease)) {
    if (const auto reason = buried(ack.lease)) return {AckOutcome::cancelled, *reason};
    return {AckOutcome::lease_lost, {}};
  }
  const ActivityKey key = ack.lease.key;
  work_.erase(key);
  Instance* target = find(key.incarnation);
  if (ack.completion && target && !is_final(target->info.status)) {
    if (const auto* result = std::get_if<Payload>(&*ack.completion)) {
      enqueue(*target, work::ActivityCompleted{key.execution, key.activity, *result}, {});
    } else {
      enqueue(*target, work::ActivityFailed{key.execution, key.activity, std::get<Failure>(*ack.completion)},
              {});
    }
  }
  return {};
}

void MemoryState::abandon(const WorkAbandon& entry) {
  WorkRow* row = find_leased(entry.lease);
  if (!row) return;
  row->lease = {};
  if (!entry.count_attempt) --row->attempts;
  if (entry.delay > Duration{0}) row->position.visible_at = clock.now() + entry.delay;
  news.worker_work = true;
}

RenewResult MemoryState::renew(const WorkRenewal& renewal, Duration extend) {
  const WorkLease& lease = renewal.lease;
  if (WorkRow* row = find_leased(lease)) {
    row->lease_until = clock.lease_now() + extend;
    return {};
  }
  if (const auto reason = buried(lease)) return {RenewOutcome::cancelled, *reason};
  return {RenewOutcome::lease_lost, {}};
}

/// Deletes a worker row. Whoever holds it learns of it by the tombstone.
std::optional<StolenLease> MemoryState::remove_row(const ActivityKey& key, CancelReason reason,
                                                   const NodeId& by) {
  auto row = work_.extract(key);
  if (!row || !is_live(row.mapped().lease, row.mapped().lease_until)) return std::nullopt;
  const WorkRow& held = row.mapped();
  StolenLease stolen{held.owner, {key, held.lease}, reason};
  tombstones_[held.lease] = {stolen, held.lease_until + options.tombstone_margin, held.owner == by};
  return stolen;
}

std::optional<CancelReason> MemoryState::buried(const WorkLease& lease) const {
  const auto found = tombstones_.find(lease.token);
  if (found == tombstones_.end() || found->second.lease.lease != lease) return std::nullopt;
  if (found->second.until <= clock.lease_now()) return std::nullopt;
  return found->second.lease.reason;
}

std::vector<StolenLease> MemoryState::read_stolen(const NodeId& node) {
  sweep();
  std::vector<StolenLease> unread;
  for (auto& [token, tombstone] : tombstones_) {
    if (tombstone.reported || tombstone.lease.owner != node) continue;
    tombstone.reported = true;
    unread.push_back(tombstone.lease);
  }
  return unread;
}

// -- the rest
// --------------------------------------------------------------------------------------------------------

LeaseToken MemoryState::new_token() {
  const std::uint64_t drawn = random_();
  return LeaseToken{drawn == 0 ? 1 : drawn};
}

/// Forgets what has been kept for long enough.
void MemoryState::sweep() {
  const LeaseTime now = clock.lease_now();
  std::erase_if(tombstones_, [&](const auto& entry) { return entry.second.until <= now; });
  for (auto& [target, messages] : parked_) {
    dropped_parked_ +=
        std::erase_if(messages, [&](const ParkedMessage& entry) { return entry.until <= now; });
  }
  std::erase_if(parked_, [](const auto& entry) { return entry.second.empty(); });
}

Snapshot MemoryState::snapshot() {
  sweep();
  Snapshot result{.instances = instances_.size(),
                  .worker_rows = work_.size(),
                  .tombstones = tombstones_.size(),
                  .commit_calls = commit_calls_,
                  .commits = commits_,
                  .dropped_parked = dropped_parked_};
  for (const auto& [incarnation, instance] : instances_) result.queued_messages += instance.inbox.size();
  for (const auto& [target, messages] : parked_) result.parked_messages += messages.size();
  return result;
}

}  // namespace duramen::inline v0::testing
