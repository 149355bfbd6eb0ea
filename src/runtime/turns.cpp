#include "runtime/turns.hpp"

#include "base/check.hpp"
#include "runtime/condemned.hpp"
#include "store/answers.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace duramen::inline v0::runtime {

namespace {

// What cannot be worked on now is looked at again after this.
constexpr Duration short_pause{1000};
// Instances that are remembered though nothing of them is resident, at least.
constexpr std::size_t least_remembered = 10'000;

MessageBody as_message(const FinishedActivity& activity) {
  const ActivityKey& key = activity.lease.key;
  if (const auto* failure = std::get_if<Failure>(&activity.result)) {
    return message::ActivityFailed{key.execution, key.activity, *failure};
  }
  return message::ActivityCompleted{key.execution, key.activity, std::get<Payload>(activity.result)};
}

ActivityAck as_ack(FinishedActivity activity) {
  return ActivityAck{activity.lease, std::move(activity.instance), std::move(activity.result)};
}

bool is_stored(const Result<CommitResult>& result) {
  return result &&
         (result->outcome == CommitOutcome::committed || result->outcome == CommitOutcome::already_committed);
}

/// What the store's answer to a first turn says about the start that was stored with it.
Result<StartOutcome> start_outcome(const Result<CommitResult>& result, const InstanceId& instance) {
  if (!result) return result.error();
  switch (result->outcome) {
    case CommitOutcome::committed:
    case CommitOutcome::already_committed:
      return StartOutcome::created;
    case CommitOutcome::start_refused:
      return result->start;
    case CommitOutcome::invalid:
      if (detail::mutant("an_invalid_start_is_created")) return StartOutcome::created;
      return Error{ErrorCode::invalid_argument, "start",
                   "the store cannot hold the first turn of \"" + instance.value +
                       "\", so nothing was started: " + result->message,
                   false};
    case CommitOutcome::lease_lost:
    case CommitOutcome::condition_failed:
      break;
  }
  return Error{ErrorCode::internal, "start",
               "the provider answered the start of \"" + instance.value +
                   "\" with what only a turn of an existing instance can have; correct the provider",
               false};
}

/// A resident may be of an execution that another node has ended meanwhile.
bool is_of(const FinishedActivity& activity, const core::ExecutionIdentity& identity) {
  const ActivityKey& key = activity.lease.key;
  return identity.incarnation == key.incarnation && identity.execution == key.execution;
}

/// The code that an item needs.
struct CodeName {
  std::string orchestration;
  std::optional<std::string> version;
};

/// What begins an execution says which code runs it; after that history does, and the store's row repeats it.
CodeName code_for(const LeasedInstance& item, bool fresh) {
  for (const InboxMessage& message : item.messages) {
    if (!fresh) break;
    if (const auto* start = std::get_if<message::StartOrchestration>(&message.body)) {
      return {start->orchestration, start->version};
    }
    if (const auto* next = std::get_if<message::ContinueAsNew>(&message.body))
      return {next->orchestration, next->version};
  }
  return {item.name, item.version};
}

bool is_fresh(const LeasedInstance& item) {
  return !item.last_event_id || item.status == Status::continued_as_new;
}

template <class Message>
bool holds(const LeasedInstance& item) {
  return std::any_of(item.messages.begin(), item.messages.end(), [](const InboxMessage& message) {
    return std::holds_alternative<Message>(message.body);
  });
}

/// The first execution is the store's; every further one is begun by the message that continues.
ExecutionId execution_of(const LeasedInstance& item) {
  const bool next = item.status == Status::continued_as_new && holds<message::ContinueAsNew>(item);
  return next ? item.execution.next() : item.execution;
}

/// Handed out too often without an end.
std::optional<Failure> poison(const LeasedInstance& item, std::uint32_t max_attempts) {
  if (item.attempt <= max_attempts) return std::nullopt;
  Failure failure;
  failure.kind = FailureKind::poison;
  failure.type = item.unreadable ? "UnreadableMessage" : "PoisonInstance";
  failure.attempt = item.attempt;
  failure.message = item.unreadable
                        ? "a message of the instance cannot be read: " + *item.unreadable
                        : "a turn of \"" + item.name + "\" was tried " + std::to_string(item.attempt - 1) +
                              " times without coming to an end (limit " + std::to_string(max_attempts) +
                              "): does its code crash the process, or is it registered nowhere?";
  return failure;
}

bool begins_execution(const InboxMessage& message) {
  return std::holds_alternative<message::StartOrchestration>(message.body) ||
         std::holds_alternative<message::ContinueAsNew>(message.body);
}

/// The store orders messages by wall time. A clock that was set back puts what came after the start before
/// it, or shows it alone (then false); a history begins with its start all the same.
bool put_beginning_first(LeasedInstance& item) {
  const auto first = std::find_if(item.messages.begin(), item.messages.end(), begins_execution);
  if (first == item.messages.end()) return false;
  std::rotate(item.messages.begin(), first, std::next(first));
  return true;
}

}  // namespace

Turns::Turns(Env& env, Provider& provider, const Registry& registry, Committer& committer,
             Activities& activities, TurnOptions options, Events events, const Log& log,
             const Instruments& instruments, Watchdog& watchdog)
    : env_(env),
      provider_(provider),
      registry_(registry),
      committer_(committer),
      activities_(activities),
      options_(std::move(options)),
      events_(std::move(events)),
      log_(log),
      instruments_(instruments),
      watchdog_(watchdog) {}

// -- slots ----------------------------------------------------------------------------------------

Turns::Slot& Turns::slot_for(const InstanceId& instance) {
  auto [at, fresh] = slots_.try_emplace(instance);
  if (fresh) {
    at->second.recent = recent_.insert(recent_.end(), instance);
  } else {
    recent_.splice(recent_.end(), recent_, at->second.recent);
  }
  return slots_.at(instance);
}

void Turns::set_busy(Slot& slot, bool busy) {
  if (slot.busy == busy) return;
  slot.busy = busy;
  busy ? ++busy_ : --busy_;
}

void Turns::discard(const InstanceId& instance) {
  const auto found = slots_.find(instance);
  if (found == slots_.end()) return;
  DURAMEN_CHECK(!found->second.busy);
  recent_.erase(found->second.recent);
  slots_.erase(found);
}

/// Lets go of what rests here and was not needed for the longest time. A turn under way keeps its coroutine.
void Turns::evict() {
  for (auto at = recent_.begin(); at != recent_.end() && slots_.size() - busy_ > options_.max_resident;) {
    const auto found = slots_.find(*at);
    if (found->second.busy) {
      ++at;
    } else {
      slots_.erase(found);
      at = recent_.erase(at);
    }
  }
}

// -- four ways in ---------------------------------------------------------------------------------

void Turns::start(StartRequest request, UniqueFunction<void(Result<StartOutcome>)> done) {
  const InstanceId instance = request.instance;
  auto handler = registry_.find_orchestration(request.start.orchestration, request.start.version);
  if (slots_.contains(instance) || !handler) {
    // The id is known here, or the code is not: the store decides.
    env_.run_elsewhere(Lane::store, [this, request = std::move(request), done = std::move(done)]() mutable {
      done(base::the_one("start", provider_.start_instances(std::span(&request, 1))));
    });
    return;
  }
  Slot& slot = slot_for(instance);
  set_busy(slot, true);
  slot.execution = std::make_unique<core::Execution>(core::ExecutionIdentity{instance, {}, ExecutionId{1}},
                                                     handler, execution_options());
  const MessageBody message = request.start;
  Turn turn = run(*slot.execution, {}, {&message, 1});
  turn.commit.basis = FusedStart{std::move(request)};
  commit(instance, std::move(turn),
         [instance, done = std::move(done)](const Result<CommitResult>& result) mutable {
           done(start_outcome(result, instance));
         });
}

core::ExecutionOptions Turns::execution_options() const {
  core::ExecutionOptions options;
  options.max_actions_per_turn = options_.max_actions;
  if (!detail::mutant("the_payload_limit_is_fixed")) options.max_payload_bytes = options_.max_payload_bytes;
  return options;
}

void Turns::cancel(const InstanceId& instance, const message::CancelInstance& request,
                   UniqueFunction<void(bool stored)> done) {
  const auto found = slots_.find(instance);
  if (found == slots_.end() || found->second.busy || !found->second.execution) return done(false);
  Slot& slot = found->second;
  recent_.splice(recent_.end(), recent_, slot.recent);
  set_busy(slot, true);
  const EventId before = slot.execution->last_event_id();
  const MessageBody message = request;
  Turn turn = run(*slot.execution, {}, {&message, 1});
  if (turn.commit.events.empty()) {  // it is being cancelled already
    set_busy(slot, false);
    return done(true);
  }
  // Refused if a message waits in the store: a cancel does not overtake what was sent before it.
  turn.commit.basis = ConditionalLease{before};
  commit(
      instance, std::move(turn),
      [done = std::move(done)](const Result<CommitResult>& result) mutable { done(is_stored(result)); },
      Urgency::urgent);
}

void Turns::take(std::vector<LeasedInstance> items) {
  for (LeasedInstance& item : items) {
    const InstanceId instance = item.instance;
    Slot& slot = slot_for(instance);
    if (slot.busy) {
      slot.fetched = std::move(item);
    } else {
      begin_fetched(instance, std::move(item));
    }
  }
  read_histories();
}

void Turns::take(FinishedActivity activity) {
  const auto found = slots_.find(activity.instance);
  Slot* slot = found == slots_.end() ? nullptr : &found->second;
  if (slot == nullptr || !slot->execution || !is_of(activity, slot->execution->identity()))
    return send_to_store(std::move(activity));
  if (slot->busy) {
    slot->finished.push_back(std::move(activity));
    return;
  }
  recent_.splice(recent_.end(), recent_, slot->recent);
  const InstanceId instance = activity.instance;
  std::vector<FinishedActivity> finished;
  finished.push_back(std::move(activity));
  run_finished(instance, *slot, std::move(finished));
}

void Turns::send_to_store(FinishedActivity activity) {
  committer_.add(as_ack(std::move(activity)), [](const Result<AckResult>&) {
    // Refused: it was cancelled or taken over, and nobody waits for it. Not stored at all: its lease ends and
    // it is run again. Neither needs us.
  });
}

// -- fetched messages -----------------------------------------------------------------------------

void Turns::begin_fetched(const InstanceId& instance, LeasedInstance item) {
  Slot& slot = slot_for(instance);
  set_busy(slot, true);
  auto failure = take_refusal(item);
  if (!failure) failure = poison(item, options_.max_attempts);
  if (failure) {
    slot.execution.reset();
    return condemn(instance, std::move(item), std::move(*failure));
  }
  if (item.unreadable) {
    log_(LogLevel::error, "a message of an instance cannot be read; tried again in a while",
         {{"instance_id", instance.value},
          {"error", *item.unreadable},
          {"attempt", std::to_string(item.attempt)}});
    return give_up(instance, item, short_pause, Attempt::counted);
  }
  if (is_fresh(item)) {
    slot.execution.reset();
    return run_fetched(instance, std::move(item), {});
  }
  if (slot.execution) {
    const core::ExecutionIdentity& identity = slot.execution->identity();
    const bool same = identity.incarnation == item.incarnation && identity.execution == item.execution &&
                      slot.execution->last_event_id() <= item.last_event_id && !slot.execution->ended();
    if (!same) slot.execution.reset();
  }
  const EventId known = slot.execution ? slot.execution->last_event_id() : EventId{};
  if (known == item.last_event_id) return run_fetched(instance, std::move(item), {});

  to_read_from_.push_back({item.instance, item.execution, known});
  to_read_.push_back(std::move(item));
}

/// Asks for what the items begun since the last time need, all at once.
void Turns::read_histories() {
  if (to_read_.empty()) return;
  env_.run_elsewhere(Lane::store, [this, items = std::exchange(to_read_, {}),
                                   requests = std::exchange(to_read_from_, {})]() mutable {
    std::vector<Result<std::vector<Event>>> histories = provider_.read_histories(requests);
    if (histories.size() != requests.size() && !detail::mutant("answers_are_not_counted")) {
      Error wrong = base::wrong_number_of_answers("read_histories", histories.size(), requests.size());
      wrong.retryable = true;  // it says nothing about any of the instances
      histories.assign(requests.size(), wrong);
    }
    for (std::size_t i = 0; i < items.size(); ++i)
      histories[i] = whole_history(provider_, items[i], requests[i].after, std::move(histories[i]));
    env_.loop().post([this, items = std::move(items), histories = std::move(histories)]() mutable {
      for (std::size_t i = 0; i < items.size(); ++i)
        history_read(std::move(items[i]), std::move(histories[i]));
    });
  });
}

void Turns::history_read(LeasedInstance item, Result<std::vector<Event>> history) {
  const InstanceId instance = item.instance;
  if (history) return run_fetched(instance, std::move(item), std::move(*history));
  log_(LogLevel::error, "the history of an instance cannot be read; tried again in a while",
       {{"instance_id", instance.value},
        {"error", history.error().describe()},
        {"attempt", std::to_string(item.attempt)}});
  // A store that fails for now says nothing about the instance.
  give_up(instance, item, short_pause, history.error().retryable ? Attempt::uncounted : Attempt::counted);
}

void Turns::run_fetched(const InstanceId& instance, LeasedInstance item, std::vector<Event> history) {
  Slot& slot = slots_.at(instance);
  if (!slot.execution) {
    if (is_fresh(item) && !put_beginning_first(item)) {
      // Only what came after it is visible yet: a clock was set back.
      return give_up(instance, item, short_pause, Attempt::uncounted);
    }
    const CodeName code = code_for(item, is_fresh(item));
    auto handler = registry_.find_orchestration(code.orchestration, code.version);
    if (!handler && !holds<message::CancelInstance>(item)) {
      // It waits for a node that has the code, however long that takes to be deployed.
      const Duration pause = unregistered_pause(instance);
      log_(LogLevel::warning,
           "no code is registered here for orchestration \"" + code.orchestration + "\" " +
               code.version.value_or("") + "; offered again in " + std::to_string(pause.count()) + " ms",
           {{"instance_id", instance.value}, {"attempt", std::to_string(item.attempt)}});
      return give_up(instance, item, pause, Attempt::uncounted);
    }
    core::ExecutionOptions options = execution_options();
    options.key_values = std::move(item.key_values);
    slot.execution = std::make_unique<core::Execution>(
        core::ExecutionIdentity{instance, item.incarnation, execution_of(item)}, std::move(handler),
        std::move(options));
  }
  std::vector<MessageBody> messages;
  messages.reserve(item.messages.size());
  for (InboxMessage& message : item.messages) messages.push_back(std::move(message.body));
  Turn turn = run(*slot.execution, history, messages);
  turn.commit.basis = HeldLease{item.lease};
  if (turn.commit.events.empty())
    turn.commit.change.status = item.status;  // only messages nobody waits for: taken away unseen
  commit(instance, std::move(turn), {});
}

/// Nothing can be done with it here and now.
void Turns::give_up(const InstanceId& instance, const LeasedInstance& item, Duration delay, Attempt attempt) {
  give_back({item.incarnation, item.lease}, delay, attempt);
  Slot& slot = slots_.at(instance);
  slot.execution.reset();
  set_busy(slot, false);
  next(instance);
}

/// Doubled each time, as far as this node remembers.
Duration Turns::unregistered_pause(const InstanceId& instance) {
  if (unregistered_.size() > max_remembered()) unregistered_.clear();
  auto [at, first] = unregistered_.try_emplace(instance, options_.unregistered_pause);
  if (!first) at->second = std::min(at->second * 2, options_.longest_unregistered_pause);
  return at->second;
}

/// Ends an instance without running its code.
void Turns::condemn(const InstanceId& instance, LeasedInstance item, Failure failure) {
  log_(LogLevel::error, failure.message,
       {{"instance_id", instance.value}, {"attempt", std::to_string(item.attempt)}});
  env_.run_elsewhere(
      Lane::store, [this, instance, item = std::move(item), failure = std::move(failure)]() mutable {
        Condemned condemned = read_condemned(provider_, item);
        env_.loop().post([this, instance, item = std::move(item), failure = std::move(failure),
                          condemned = std::move(condemned)]() mutable {
          const bool has_beginning = !is_fresh(item) || put_beginning_first(item);
          if (condemned.retry_later || !has_beginning)
            return give_up(instance, item, short_pause, Attempt::uncounted);
          const core::ExecutionIdentity identity{instance, item.incarnation, execution_of(item)};
          std::vector<MessageBody> messages;
          for (InboxMessage& message : item.messages) messages.push_back(std::move(message.body));
          Turn turn;
          if (condemned.history) {
            core::Execution execution(identity, nullptr);
            turn = run(execution, *condemned.history, messages, &failure);
          } else {
            turn.commit = unread_end(identity, item, condemned, std::move(failure), env_.clock().now());
            turn.commit.token = CommitToken{random_token()};
            turn.commit.node = options_.node;
          }
          turn.commit.basis = HeldLease{item.lease};
          turn.condemned = true;
          if (turn.commit.events.empty()) turn.commit.change.status = item.status;
          commit(instance, std::move(turn), {});
        });
      });
}

void Turns::give_back(const TurnLease& lease, Duration delay, Attempt attempt) {
  const TurnRelease back{lease, delay, attempt == Attempt::counted};
  env_.run_elsewhere(Lane::store, [this, entry = back] {
    const Result<void> result = provider_.release_turns(std::span(&entry, 1));
    if (!result)
      log_(LogLevel::warning, "a turn could not be given back", {{"error", result.error().describe()}});
  });
}

// -- finished activities --------------------------------------------------------------------------

void Turns::run_finished(const InstanceId& instance, Slot& slot, std::vector<FinishedActivity> finished) {
  set_busy(slot, true);
  const EventId before = slot.execution->last_event_id();
  std::vector<MessageBody> messages;
  messages.reserve(finished.size());
  for (const FinishedActivity& activity : finished) messages.push_back(as_message(activity));
  Turn turn = run(*slot.execution, {}, messages);
  turn.commit.basis = ConditionalLease{before};
  for (FinishedActivity& activity : finished)
    turn.commit.activity_acks.push_back(as_ack(std::move(activity)));
  commit(instance, std::move(turn), {});
}

/// The turn under way is settled; goes on with what came meanwhile.
void Turns::next(const InstanceId& instance) {
  const auto found = slots_.find(instance);
  if (found == slots_.end()) return;
  Slot& slot = found->second;
  if (options_.max_resident == 0) slot.execution.reset();  // also if its next turn could begin at once
  std::vector<FinishedActivity> finished = std::exchange(slot.finished, {});
  if (slot.fetched) {
    // Leased by a fetch: the commit of a finished activity could not get past that lease, so it goes to the
    // store.
    LeasedInstance item = std::move(*slot.fetched);
    slot.fetched.reset();
    for (FinishedActivity& activity : finished) send_to_store(std::move(activity));
    begin_fetched(instance, std::move(item));
    read_histories();
  } else if (!slot.execution) {
    for (FinishedActivity& activity : finished) send_to_store(std::move(activity));
    discard(instance);
  } else {
    std::vector<FinishedActivity> ours;
    for (FinishedActivity& activity : finished) {
      if (is_of(activity, slot.execution->identity())) {
        ours.push_back(std::move(activity));
      } else {
        send_to_store(std::move(activity));
      }
    }
    if (!ours.empty()) return run_finished(instance, slot, std::move(ours));
    evict();
  }
}

// -- commits --------------------------------------------------------------------------------------

Turns::Turn Turns::run(core::Execution& execution, std::span<const Event> history,
                       std::span<const MessageBody> messages, const Failure* condemned) {
  watchdog_.enter(execution.identity().instance);
  const auto began = std::chrono::steady_clock::now();
  core::TurnOutcome outcome =
      execution.run_turn({history, messages, env_.clock().now(), env_.random(), condemned});
  watchdog_.leave();
  if (instruments_.on()) {
    instruments_.turn_ran(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  for (const std::string& warning : outcome.warnings) {
    log_(LogLevel::warning, warning, {{"instance_id", execution.identity().instance.value}});
  }
  Turn turn;
  turn.traces = std::move(outcome.traces);
  turn.replayed = outcome.replayed_events;
  if (instruments_.on()) {
    turn.name = execution.name();
    turn.version = execution.version();
    turn.began = execution.started_at();
  }
  TurnCommit& commit = turn.commit;
  commit.token = CommitToken{random_token()};
  commit.node = options_.node;
  commit.instance = execution.identity().instance;
  commit.incarnation = execution.identity().incarnation;
  commit.execution = execution.identity().execution;
  commit.change.status = outcome.status;
  commit.change.output = std::move(outcome.output);
  commit.change.failure = std::move(outcome.failure);
  commit.change.custom_status = std::move(outcome.custom_status);
  commit.change.key_values = std::move(outcome.key_values);
  if (!outcome.events.empty()) {
    if (const auto* started = std::get_if<event::OrchestrationStarted>(&outcome.events.front().body)) {
      commit.change.version = started->version;
      commit.change.engine_version = started->engine_version;
      commit.change.parent = started->parent;
    }
  }
  commit.events = std::move(outcome.events);
  commit.messages = std::move(outcome.messages);
  commit.cancelled_activities = std::move(outcome.cancelled_activities);
  commit.cancel_rest = outcome.cancel_rest;
  commit.dropped_timers = std::move(outcome.dropped_timers);
  commit.activity_lease = options_.activity_lease;
  commit.new_activities.reserve(outcome.activities.size());
  for (ActivityRequest& activity : outcome.activities)
    commit.new_activities.push_back({std::move(activity), {}});
  dispatch_leases(commit);
  return turn;
}

/// Never zero, and below 2^63 like every number.
std::uint64_t Turns::random_token() { return (env_.random() >> 1u) | 1u; }

/// What can be run here at once is born leased to us and begins when the commit returns, without a fetch.
void Turns::dispatch_leases(TurnCommit& commit) {
  if (!dispatching_) return;
  for (NewActivity& item : commit.new_activities) {
    if (activities_.free_places() == 0) break;
    // A session may be somebody else's: only a fetch can tell.
    if (item.request.session_id || !options_.tags.accepts(item.request.tag)) continue;
    if (!activities_.can_run(item.request.name)) continue;
    item.born_leased = LeaseToken{random_token()};
    activities_.reserve(1);
  }
}

void Turns::commit(const InstanceId& instance, Turn turn,
                   UniqueFunction<void(const Result<CommitResult>&)> done, Urgency urgency) {
  // The commit itself goes to the store; what we need of it afterwards is copied out first.
  auto stored = std::make_shared<Stored>();
  stored->execution = turn.commit.execution;
  stored->change.status = turn.commit.change.status;
  stored->change.output = turn.commit.change.output;
  stored->change.failure = turn.commit.change.failure;
  stored->cancelled_activities = turn.commit.cancelled_activities;
  stored->cancel_rest = turn.commit.cancel_rest;
  stored->traces = std::move(turn.traces);
  stored->condemned = turn.condemned;
  if (instruments_.on()) note(turn, *stored);
  for (const NewActivity& item : turn.commit.new_activities) {
    if (item.born_leased) stored->begun.push_back(item);
    if (const auto limit = shortest_limit(item.request.options)) {
      stored->shortest_limit = std::min(*limit, stored->shortest_limit.value_or(*limit));
    }
  }
  for (const OutboundMessage& message : turn.commit.messages) {
    if (std::holds_alternative<message::TimerFired>(message.body))
      stored->timers.push_back(message.visible_at);
  }
  stored->sent = env_.clock().lease_now();
  Committer::TurnDone answered = [this, instance, stored, done = std::move(done)](Result<CommitResult> result,
                                                                                  TurnCommit& sent) mutable {
    Slot& slot = slots_.at(instance);
    set_busy(slot, false);
    if (is_stored(result)) {
      activities_.release(stored->begun.size());
      committed(instance, *stored, *result);
    } else {
      activities_.give_up(stored->begun.size());
      slot.execution.reset();  // it ran ahead of the store
      if (result && result->outcome == CommitOutcome::invalid)
        refused(sent, result->message, stored->condemned);
    }
    if (done) done(result);
    next(instance);
  };
  if (urgency == Urgency::urgent) {
    committer_.add_urgent(std::move(turn.commit), std::move(answered));
  } else {
    committer_.add(std::move(turn.commit), std::move(answered));
  }
}

/// The store can never hold this turn, so running it again would end in the same way: the instance fails as
/// soon as it is fetched again, with the store's reason.
void Turns::refused(TurnCommit& commit, const std::string& why, bool condemned) {
  if (std::holds_alternative<FusedStart>(commit.basis)) return;  // nothing is stored, and the caller is told
  log_(LogLevel::error,
       condemned ? "the store cannot hold the failure of an instance; tried again when its lease ends"
                 : "the store cannot hold a turn of an instance, which fails",
       {{"instance_id", commit.instance.value}, {"error", why}});
  if (condemned || detail::mutant("a_refused_turn_is_run_again")) return;
  if (refused_.size() > max_remembered()) refused_.clear();
  const EventId after = commit.events.empty() ? EventId{} : EventId{commit.events.front().id.value - 1};
  refused_.insert_or_assign(commit.instance, RefusedTurn{commit.incarnation, commit.execution, after, why});
  // What ended is not run again: its end is stored without the turn, and causes the fetch.
  for (ActivityAck& ack : commit.activity_acks)
    committer_.add(std::move(ack), [](const Result<AckResult>&) {});
  if (const auto* held = std::get_if<HeldLease>(&commit.basis))
    give_back({commit.incarnation, held->token}, {}, Attempt::uncounted);
}

/// A bound that only a store full of broken instances reaches; it must not be that of resident ones, which
/// may be 0.
std::size_t Turns::max_remembered() const {
  if (detail::mutant("refusals_are_forgotten")) return options_.max_resident;
  return std::max(options_.max_resident, least_remembered);
}

/// Why an instance that was fetched cannot go on, if the store has refused its last turn.
std::optional<Failure> Turns::take_refusal(const LeasedInstance& item) {
  const auto found = refused_.find(item.instance);
  if (found == refused_.end()) return std::nullopt;
  const RefusedTurn refused = std::move(found->second);
  refused_.erase(found);
  // Another node may have stored another turn in its place, or ended the instance: then it goes on from
  // there.
  const bool same = refused.incarnation == item.incarnation && refused.execution == execution_of(item) &&
                    refused.after == (is_fresh(item) ? EventId{} : item.last_event_id);
  if (!same && !detail::mutant("a_refusal_outlives_its_turn")) return std::nullopt;
  Failure failure;
  failure.kind = FailureKind::infrastructure;
  failure.type = "TurnRefused";
  failure.message = "the store cannot hold a turn of \"" + item.name + "\": " + refused.why;
  return failure;
}

void Turns::committed(const InstanceId& instance, Stored& turn, CommitResult& result) {
  Slot& slot = slots_.at(instance);
  if (slot.execution && !slot.execution->identity().incarnation)
    slot.execution->set_incarnation(result.incarnation);
  for (const StolenLease& stolen : result.stolen) events_.lease_stolen(stolen, turn.sent);
  if (result.outcome == CommitOutcome::already_committed) {
    // The answer that named the stolen leases was lost. What runs here is known without it; others are told
    // by the store.
    for (const CancelledActivity& cancelled : turn.cancelled_activities) {
      activities_.stop({result.incarnation, turn.execution, cancelled.activity}, cancelled.reason);
    }
    if (turn.cancel_rest) activities_.stop_execution(result.incarnation, turn.execution, *turn.cancel_rest);
  }
  for (const core::TraceLine& line : turn.traces) {
    log_(line.level, line.text,
         {{"instance_id", instance.value}, {"execution_id", std::to_string(turn.execution.value)}},
         LogSource::orchestration);
  }
  for (const InstanceId& taken : result.refused_starts) {
    if (detail::mutant("a_refused_detached_start_is_silent")) break;
    log_(LogLevel::warning,
         "a detached start did nothing, because an instance of that id exists; give the new one another id",
         {{"instance_id", instance.value}, {"refused_id", taken.value}});
  }
  if (instruments_.on()) count(turn);
  for (NewActivity& item : turn.begun) {
    item.request.key.incarnation = result.incarnation;
    LeasedActivity work;
    work.lease = {item.request.key, *item.born_leased};
    work.request = std::move(item.request);
    activities_.run(std::move(work), turn.sent);
  }
  for (TimePoint due : turn.timers) events_.timer_created(due);
  if (turn.shortest_limit) events_.activity_limited(env_.clock().now() + *turn.shortest_limit);
  if (turn.change.status == Status::continued_as_new)
    slot.execution.reset();  // the next one is another execution
  if (is_final(turn.change.status)) {
    events_.ended(instance,
                  {turn.change.status, std::move(turn.change.output), std::move(turn.change.failure)});
    slot.execution.reset();
  }
}

// -- counting -------------------------------------------------------------------------------------

void Turns::note(const Turn& turn, Stored& stored) {
  stored.replayed = turn.replayed;
  stored.resident = turn.replayed == 0;
  stored.name = turn.name;
  stored.version = turn.version;
  stored.began = turn.began;
  for (const Event& event : turn.commit.events) {
    stored.last_event = event.id;
    if (const auto* child = std::get_if<event::SubOrchestrationScheduled>(&event.body)) {
      stored.children.push_back(child->name);
    } else if (const auto* started = std::get_if<event::OrchestrationStarted>(&event.body)) {
      stored.resident = false;
      stored.begun_by = turn.commit.execution.value > 1 ? "continueAsNew"
                        : started->parent               ? "parent"
                                                        : "client";
    }
  }
}

void Turns::count(const Stored& turn) const {
  const TurnLabels of{turn.name, turn.version};
  if (!turn.begun_by.empty()) instruments_.execution_began(of, turn.begun_by);
  instruments_.turn_committed(of, turn.replayed, turn.resident);
  for (const std::string& child : turn.children) instruments_.child_called(of, child);
  const Status status = turn.change.status;
  if (!is_final(status) && status != Status::continued_as_new) return;
  if (!turn.last_event) return;  // it had ended before
  instruments_.execution_ended(of, status, turn.change.failure, env_.clock().now() - turn.began,
                               turn.last_event.value);
}

}  // namespace duramen::inline v0::runtime
