#include "testing/memory/state.hpp"

#include <algorithm>
#include <limits>

namespace duramen::inline v0::testing {
namespace {

bool wanted(const TurnFetch& request, const Instance& instance) {
  const bool supported =
      !instance.engine_version || (*instance.engine_version >= request.min_engine_version &&
                                   *instance.engine_version <= request.max_engine_version);
  if (!supported || !request.orchestrations) return supported;
  // Once a turn has resolved the version, the node must have exactly that version.
  const bool resolved =
      instance.info.status != Status::pending && instance.info.status != Status::continued_as_new;
  return std::ranges::any_of(*request.orchestrations, [&](const RegisteredOrchestration& known) {
    return known.name == instance.info.name &&
           (!resolved || known.versions.empty() ||
            std::ranges::find(known.versions, instance.info.version) != known.versions.end());
  });
}

/// A child's answer names the incarnation of its parent: a later instance with the same id must not get it.
bool is_for(const MessageBody& item, Incarnation incarnation) {
  if (const auto* done = std::get_if<message::SubOrchestrationCompleted>(&item))
    return done->parent.incarnation == incarnation;
  if (const auto* failed = std::get_if<message::SubOrchestrationFailed>(&item))
    return failed->parent.incarnation == incarnation;
  return true;
}

}  // namespace

MemoryState::MemoryState(const Clock& c, MemoryOptions o) : clock(c), options(o), random_(o.seed) {}

// -- instances and messages

Instance* MemoryState::find(const InstanceId& id) {
  const auto name = names.find(id);
  return name == names.end() ? nullptr : find(name->second);
}

Instance* MemoryState::find(Incarnation incarnation) {
  const auto found = instances.find(incarnation);
  return found == instances.end() ? nullptr : &found->second;
}

bool MemoryState::has_visible_message(const Instance& instance) const {
  const TimePoint now = clock.now();
  return !instance.inbox.empty() && instance.inbox.begin()->first.visible_at <= now &&
         instance.not_before <= now;
}

/// The outcome of a start that cannot create its instance; absent if it can.
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
  deliver_parked(request.instance);  // after the start
  notices.instances.push_back({request.instance, Status::pending, {}});
  return StartOutcome::created;
}

/// Creates a pending instance without messages; a previous instance with the id is erased.
Instance& MemoryState::create(const InstanceId& id, const message::StartOrchestration& start) {
  if (const Instance* old = find(id)) erase(*old);
  last_incarnation_ = last_incarnation_.next();
  names[id] = last_incarnation_;
  Instance& instance = instances[last_incarnation_];
  instance.info.instance = id;
  instance.info.incarnation = last_incarnation_;
  instance.info.name = start.orchestration;
  instance.info.execution = ExecutionId{1};
  instance.info.created_at = instance.info.updated_at = clock.now();
  instance.info.parent = start.parent;
  instance.start = start;
  instance.executions[ExecutionId{1}].info = {.execution = ExecutionId{1}, .started_at = clock.now()};
  return instance;
}

void MemoryState::erase(const Instance& instance) {
  const Incarnation incarnation = instance.info.incarnation;
  auto row = work.lower_bound(ActivityKey{incarnation, {}, {}});
  while (row != work.end() && row->first.incarnation == incarnation) {
    const ActivityKey key = (row++)->first;
    if (auto stolen = remove_row(key, CancelReason::instance_deleted, {})) notices.stolen.push_back(*stolen);
  }
  names.erase(instance.info.instance);
  instances.erase(incarnation);
}

void MemoryState::enqueue(Instance& target, MessageBody item, TimePoint visible_at) {
  const QueuePosition position{std::max(visible_at, clock.now()), ++last_arrival_};
  target.inbox.emplace(position, QueuedMessage{std::move(item), 0, {}});
  if (has_visible_message(target)) notices.turns_ready = true;
}

EnqueueOutcome MemoryState::deliver(const OutboundMessage& message) {
  if (const auto* start = std::get_if<message::StartOrchestration>(&message.body))
    return deliver_start(message, *start);
  Instance* target = find(message.target);
  if (!target) return park(message);
  if (!is_for(message.body, target->info.incarnation)) return EnqueueOutcome::not_found;
  if (message.message_id && target->message_ids.contains(*message.message_id))
    return EnqueueOutcome::duplicate;
  if (is_final(target->info.status)) return EnqueueOutcome::finished;
  if (message.message_id) target->message_ids.insert(*message.message_id);
  enqueue(*target, message.body, message.visible_at);
  return EnqueueOutcome::enqueued;
}

/// An orchestration starts another one. `duplicate`: the id is taken.
EnqueueOutcome MemoryState::deliver_start(const OutboundMessage& message,
                                          const message::StartOrchestration& start) {
  if (find(message.target)) return EnqueueOutcome::duplicate;
  this->start({.instance = message.target, .start = start});
  find(message.target)->not_before = message.visible_at;
  return EnqueueOutcome::enqueued;
}

EnqueueOutcome MemoryState::park(const OutboundMessage& message) {
  const bool may_wait = std::holds_alternative<message::ExternalRaised>(message.body) ||
                        std::holds_alternative<message::QueueMessage>(message.body);
  if (!may_wait) return EnqueueOutcome::not_found;
  auto& waiting = parked[message.target];
  drop_expired(waiting, waiting.size());
  const auto same = [&](const ParkedMessage& other) {
    return other.message.message_id == message.message_id;
  };
  if (message.message_id && std::ranges::any_of(waiting, same)) return EnqueueOutcome::duplicate;
  waiting.push_back({message, clock.lease_now() + options.parked_for});
  return EnqueueOutcome::parked;
}

/// The instance now exists: delivers its parked messages that have not expired.
void MemoryState::deliver_parked(const InstanceId& target) {
  auto waiting = parked.extract(target);
  if (!waiting) return;
  drop_expired(waiting.mapped(), waiting.mapped().size());
  for (const ParkedMessage& entry : waiting.mapped()) deliver(entry.message);
}

// -- turns

TurnBatch MemoryState::fetch_instances(const TurnFetch& request) {
  const TimePoint now = clock.now();
  TurnBatch batch;
  std::vector<Instance*> ready;
  for (auto& [incarnation, instance] : instances) {
    if (instance.inbox.empty() || !wanted(request, instance)) continue;
    TimePoint due = std::max(instance.inbox.begin()->first.visible_at, instance.not_before);
    if (is_leased(instance)) due = std::max(due, on_the_wall(instance.lease_until));
    if (due > now) {
      lower(batch.next_due, due);
      continue;
    }
    ready.push_back(&instance);
    const auto later = instance.inbox.upper_bound({now, std::numeric_limits<std::uint64_t>::max()});
    if (later != instance.inbox.end()) lower(batch.next_due, later->first.visible_at);
  }
  std::ranges::sort(ready, {}, [](const Instance* i) { return i->inbox.begin()->first; });
  isolate_retries(ready, [&](const Instance& instance) {
    return std::ranges::any_of(instance.inbox, [](const auto& entry) { return entry.second.attempts > 0; });
  });
  ready.resize(std::min(ready.size(), request.limit));

  for (Instance* instance : ready) {
    instance->lease = new_token();
    instance->lease_until = clock.lease_now() + request.lease;
    LeasedInstance item{.instance = instance->info.instance,
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
      item.messages.push_back({message.body, ++message.attempts});
      item.attempt = std::max(item.attempt, message.attempts);
    }
    batch.items.push_back(std::move(item));
  }
  return batch;
}

Instance* MemoryState::find_leased(const TurnLease& lease) {
  Instance* instance = find(lease.incarnation);
  const bool held = instance && instance->lease == lease.token && is_leased(*instance);
  return held ? instance : nullptr;
}

void MemoryState::release(const TurnRelease& entry) {
  Instance* instance = find_leased(entry.lease);
  if (!instance) return;
  for (auto& [position, message] : instance->inbox) {
    if (message.fetched_under != entry.lease.token) continue;
    message.fetched_under = {};
    if (!entry.count_attempt) --message.attempts;
  }
  instance->lease = {};
  instance->not_before = entry.delay > Duration{0} ? clock.now() + entry.delay : TimePoint{};
  notices.turns_ready = true;
}

bool MemoryState::renew(const TurnLease& lease, Duration extend) {
  Instance* instance = find_leased(lease);
  if (instance) instance->lease_until = clock.lease_now() + extend;
  return instance != nullptr;
}

// -- the rest

LeaseToken MemoryState::new_token() {
  const std::uint64_t drawn = random_();
  return LeaseToken{drawn == 0 ? 1 : drawn};
}

}  // namespace duramen::inline v0::testing
