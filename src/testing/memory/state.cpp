#include "testing/memory/state.hpp"

#include "providers/common/inbox.hpp"

#include <algorithm>
#include <ranges>

namespace duramen::inline v0::testing {
namespace {

/// The level of the first engine: every engine can read the beginning of an execution.
constexpr std::uint32_t first_level = 1;

/// The size of a message, about as a store would encode it.
std::size_t bytes_of(const MessageBody& body) {
  return std::visit(
      [](const auto& item) {
        std::size_t bytes = 64;
        if constexpr (requires { item.input.data; }) bytes += item.input.data.size();
        if constexpr (requires { item.result.data; }) bytes += item.result.data.size();
        if constexpr (requires { item.data.data; }) bytes += item.data.data.size();
        if constexpr (requires { item.name; }) bytes += item.name.size();
        if constexpr (requires { item.reason; }) bytes += item.reason.size();
        if constexpr (requires { item.details.message; }) bytes += item.details.message.size();
        if constexpr (requires { item.carry_forward; }) {
          for (const CarriedEvent& carried : item.carry_forward) bytes += carried.data.data.size();
        }
        return bytes;
      },
      body);
}

/// True if the node can do the instance's next turn.
bool wanted(const TurnFetch& request, const Instance& instance) {
  const std::uint32_t level = instance.engine_version.value_or(first_level);
  if (level < request.min_engine_version || level > request.max_engine_version) return false;
  if (!request.orchestrations || needs_no_code(instance)) return true;
  // Once a turn has resolved the version, the node must have exactly that version; before, the version that
  // was asked for, if any.
  const bool resolved =
      instance.info.status != Status::pending && instance.info.status != Status::continued_as_new;
  const std::optional<std::string> version =
      resolved ? std::optional(instance.info.version) : instance.asked_version;
  return std::ranges::any_of(*request.orchestrations, [&](const RegisteredOrchestration& known) {
    return known.name == instance.info.name &&
           (!version || known.versions.empty() ||
            std::ranges::find(known.versions, *version) != known.versions.end());
  });
}

}  // namespace

/// True if a queued cancel ends the instance, or its code has no say in it.
bool needs_no_code(const Instance& instance) {
  if (!instance.cancel_place) return false;
  return instance.info.cancel_asked == CancelMode::terminate || !instance.info.graceful ||
         instance.info.status == Status::pending;
}

MemoryState::MemoryState(const Clock& c, MemoryOptions o)
    : clock(c), options(std::move(o)), random_(options.seed) {}

// -- instances and messages

Instance* MemoryState::find(const InstanceId& id) {
  const auto name = names.find(id);
  return name == names.end() ? nullptr : find(name->second);
}

Instance* MemoryState::find(Incarnation incarnation) {
  const auto found = instances.find(incarnation);
  return found == instances.end() ? nullptr : &found->second;
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

/// Before `start_at` the instance has no turn.
StartOutcome MemoryState::start(const StartRequest& request, TimePoint start_at) {
  if (const auto refused = refusal(request)) return *refused;
  Instance& instance = create(request.instance, request.start);
  instance.start_at = start_at;
  const MessageBody begin = request.start;
  enqueue_first(instance, {&begin, 1});
  deliver_parked(instance);  // after the start
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
  instance.asked_version = start.version;
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

// -- turns

/// When the instance may next have something to take; absent if no time brings it.
std::optional<TimePoint> MemoryState::next_change(const Instance& instance) const {
  std::optional<TimePoint> next;
  const TimePoint now = clock.now();
  for (const auto& [event, timer] : instance.timers) {
    if (timer.fire_at > now) lower(next, timer.fire_at);
  }
  if (instance.start_at > now) lower(next, instance.start_at);
  if (!instance.waits) return next;
  LeaseTime free_at = instance.not_before;
  if (is_leased(instance)) free_at = std::max(free_at, instance.lease_until);
  if (free_at > clock.lease_now()) lower(next, on_the_wall(free_at));
  return next;
}

TurnBatch MemoryState::fetch_instances(const TurnFetch& request) {
  notice_due_timers();
  TurnBatch batch;
  std::vector<Instance*> ready;
  for (auto& [incarnation, instance] : instances) {
    if (!wanted(request, instance)) continue;
    if (const auto next = next_change(instance)) lower(batch.next_due, *next);
    const bool free = !is_leased(instance) && instance.not_before <= clock.lease_now();
    if (instance.waits && free) ready.push_back(&instance);
  }
  // An instance whose lease or delay has ended waits since then.
  std::ranges::sort(ready, {}, [](const Instance* i) {
    const LeaseTime lease_end = i->lease ? i->lease_until : LeaseTime{};
    return WaitPosition{std::max({i->waits->since, lease_end, i->not_before}), i->waits->arrival};
  });
  isolate_retries(ready, [](const Instance& instance) { return instance.attempts > 0; });
  ready.resize(std::min(ready.size(), request.limit));

  std::size_t total_bytes = request.max_total_bytes;
  for (Instance* instance : ready) {
    if (!batch.items.empty() && total_bytes == 0) break;
    batch.items.push_back(lease_to(request, *instance, total_bytes));
  }
  return batch;
}

LeasedInstance MemoryState::lease_to(const TurnFetch& request, Instance& instance, std::size_t& total_bytes) {
  instance.lease = new_token();
  instance.lease_until = clock.lease_now() + request.lease;
  ++instance.attempts;

  std::vector<std::pair<TimePoint, EventId>> due;
  for (const auto& [event, timer] : instance.timers) {
    if (timer.fire_at <= clock.now()) due.emplace_back(timer.fire_at, event);
  }
  std::ranges::sort(due);
  providers::Inbox inbox(request, total_bytes);
  for (const auto& [fire_at, event] : due) {
    inbox.add_timer(instance.timers.at(event).execution, event, fire_at);
  }
  const auto hand_out = [&](std::int64_t place) {
    InboxMessage message;
    message.body = instance.inbox.at(place).body;
    message.place = place;
    inbox.messages().push_back(std::move(message));
  };
  for (const auto& [place, message] : instance.inbox) {
    if (!inbox.add_message(message.sent_at, bytes_of(message.body))) break;
    hand_out(place);
  }
  if (!inbox.full()) inbox.finish();
  // A cancel never waits behind the limits.
  const auto places = std::views::transform(inbox.messages(), &InboxMessage::place);
  if (instance.cancel_place && std::ranges::find(places, *instance.cancel_place) == places.end())
    hand_out(*instance.cancel_place);

  return {.instance = instance.info.instance,
          .incarnation = instance.info.incarnation,
          .lease = instance.lease,
          .lease_until = instance.lease_until,
          .execution = instance.info.execution,
          .status = instance.info.status,
          .name = instance.info.name,
          .version = instance.info.version,
          .last_event_id = instance.info.last_event_id,
          .attempt = instance.attempts,
          .messages = std::move(inbox.messages()),
          .key_values = instance.settled,
          .replay_token = instance.replay_token};
}

Instance* MemoryState::find_leased(const TurnLease& lease) {
  Instance* instance = find(lease.incarnation);
  const bool held = instance && instance->lease == lease.token && is_leased(*instance);
  return held ? instance : nullptr;
}

void MemoryState::release(const TurnRelease& entry) {
  Instance* instance = find_leased(entry.lease);
  if (!instance) return;
  if (!entry.count_attempt) --instance->attempts;
  instance->lease = {};
  instance->not_before = entry.delay > Duration{0} ? clock.lease_now() + entry.delay : LeaseTime{};
  instance->waits.reset();
  set_entry(*instance);
  notices.turns_ready = true;
}

bool MemoryState::renew(const TurnLease& lease, Duration extend) {
  Instance* instance = find_leased(lease);
  if (instance) instance->lease_until = clock.lease_now() + extend;
  return instance != nullptr;
}

// -- histories

/// The events after `after`; the error `conflict` if the commit `token` did not store that event.
Result<std::vector<Event>> MemoryState::read_history(const HistoryRequest& request) {
  const Execution* execution = nullptr;
  if (const Instance* instance = find(request.instance)) {
    const auto found = instance->executions.find(request.execution);
    if (found != instance->executions.end()) execution = &found->second;
  }
  if (request.token) {
    const bool stored = execution && execution->commits.contains(request.after) &&
                        execution->commits.at(request.after) == request.token;
    if (!stored) {
      return Error{ErrorCode::conflict, "read_histories",
                   "event " + std::to_string(request.after.value) + " of \"" + request.instance.value +
                       "\" was stored by another commit",
                   false};
    }
  }
  std::vector<Event> events;
  if (execution) {
    std::ranges::copy_if(execution->history, std::back_inserter(events),
                         [&](const Event& e) { return e.id > request.after; });
  }
  return events;
}

// -- the rest

LeaseToken MemoryState::new_token() {
  const std::uint64_t drawn = random_();
  return LeaseToken{drawn == 0 ? 1 : drawn};
}

}  // namespace duramen::inline v0::testing
