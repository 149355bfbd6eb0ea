#include "runtime/turns.hpp"

#include "runtime/fetched_instance.hpp"
#include "runtime/poison.hpp"
#include "store/answers.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace duramen::inline v0::runtime {

namespace {

// An instance that cannot be worked on now is offered again after this.
constexpr Duration short_pause{1000};
// At least this many instances that are not resident are remembered.
constexpr std::size_t least_remembered = 10'000;

/// Must not be the number of resident instances, which may be 0.
std::size_t max_remembered(const TurnOptions& options) {
  if (detail::mutant("refusals_are_forgotten")) return options.max_resident;
  return std::max(options.max_resident, least_remembered);
}

MessageBody as_message(const FinishedActivity& activity) {
  const ActivityKey& key = activity.lease.key;
  if (const auto* failure = std::get_if<Failure>(&activity.result)) {
    return message::ActivityFailed{key.execution, key.activity, *failure, activity.ran, activity.heartbeat};
  }
  return message::ActivityCompleted{key.execution, key.activity, std::get<Payload>(activity.result),
                                    activity.ran};
}

ActivityAck as_ack(FinishedActivity activity) {
  return ActivityAck{activity.lease, std::move(activity.instance), std::move(activity.result),
                     std::move(activity.ran), std::move(activity.heartbeat)};
}

/// False if another node has ended the resident's execution meanwhile, and this result is of the next.
bool is_of(const FinishedActivity& activity, const core::ExecutionIdentity& identity) {
  const ActivityKey& key = activity.lease.key;
  return identity.incarnation == key.incarnation && identity.execution == key.execution;
}

/// The turn holds only if the store has nothing that the resident does not know.
void set_condition(PendingTurn& turn, EventId before, CommitToken token) {
  turn.commit.basis = ConditionalLease{before, token};
  turn.token_before = token;
}

/// False if both are known and name different commits: the store has lost one of them.
bool may_be_same(const CommitToken& a, const CommitToken& b) {
  return !a || !b || a == b || detail::mutant("residents_trust_event_numbers");
}

/// True if the resident may be an earlier state of the fetched execution.
bool can_catch_up(const ResidentInstances::Slot& slot, const LeasedInstance& leased) {
  const core::Execution& resident = *slot.execution;
  const core::ExecutionIdentity& identity = resident.identity();
  if (identity.incarnation != leased.incarnation || identity.execution != leased.execution) return false;
  if (resident.last_event_id() > leased.last_event_id || resident.ended()) return false;
  return resident.last_event_id() < leased.last_event_id || may_be_same(slot.token, leased.replay_token);
}

}  // namespace

Turns::Turns(Env& env, Provider& provider, const Registry& registry, Activities& activities,
             TurnOptions options, Committer::Options commit_options, TurnLeases& leases, TurnEvents& events,
             const Log& log, const Instruments& instruments, Watchdog& watchdog)
    : env_(env),
      provider_(provider),
      registry_(registry),
      activities_(activities),
      leases_(leases),
      options_(std::move(options)),
      max_remembered_(max_remembered(options_)),
      log_(log),
      committer_(env, provider, commit_options, leases, *this, log, instruments),
      builder_(env, activities, options_, log, instruments, watchdog),
      after_commit_(env, activities, events, log, instruments),
      residents_(options_.max_resident),
      refused_(max_remembered_),
      lost_(max_remembered_) {}

// -- four ways in ---------------------------------------------------------------------------------

void Turns::start(StartRequest request, UniqueFunction<void(Result<StartOutcome>)> done) {
  const InstanceId instance = request.instance;
  auto handler = registry_.find_orchestration(request.start.orchestration, request.start.version);
  if (residents_.contains(instance) || !handler) {
    // This node knows the id already, or does not have the code: the store decides.
    env_.run_elsewhere(Lane::store, [this, request = std::move(request), done = std::move(done)]() mutable {
      call_start(request, done);
    });
    return;
  }
  Slot& slot = residents_.use(instance);
  residents_.begin_turn(slot);
  slot.execution = builder_.make_execution({instance, {}, ExecutionId{1}}, std::move(handler));
  const MessageBody message = request.start;
  PendingTurn turn = builder_.run(*slot.execution, {}, {&message, 1});
  turn.commit.basis = FusedStart{std::move(request)};
  turn.on_started = std::move(done);
  commit(std::move(turn));
}

void Turns::call_start(const StartRequest& request, UniqueFunction<void(Result<StartOutcome>)>& done) {
  done(base::the_one("start", provider_.start_instances(std::span(&request, 1))));
}

void Turns::cancel(const InstanceId& instance, const message::CancelInstance& request,
                   UniqueFunction<void(bool stored)> done) {
  Slot* slot = residents_.find(instance);
  if (slot == nullptr || slot->busy() || !slot->execution) return done(false);
  residents_.touch(*slot);
  const EventId before = slot->execution->last_event_id();
  const MessageBody message = request;
  PendingTurn turn = builder_.run(*slot->execution, {}, {&message, 1});
  // It is being cancelled: the store knows how far.
  if (turn.commit.events.empty() && !detail::mutant("a_repeated_cancel_is_a_turn")) return done(false);
  residents_.begin_turn(*slot);
  turn.commit.change.cancel_asked = request.mode;
  // Refused if a message waits in the store: a cancel does not overtake earlier messages.
  set_condition(turn, before, slot->token);
  turn.on_cancelled = std::move(done);
  turn.sent = env_.clock().lease_now();
  committer_.add_urgent(std::move(turn));
}

void Turns::take(std::vector<LeasedInstance> fetched) {
  for (LeasedInstance& leased : fetched) {
    Slot& slot = residents_.use(leased.instance);
    if (slot.busy()) {
      if (slot.fetched) leases_.forget(slot.fetched->lease);  // it was lost, and fetched again
      slot.fetched = std::move(leased);
    } else {
      begin_fetched(std::move(leased));
    }
  }
  read_histories();
}

void Turns::take(FinishedActivity activity) {
  Slot* slot = residents_.find(activity.instance);
  if (slot == nullptr || !slot->execution || !is_of(activity, slot->execution->identity()))
    return send_to_store(std::move(activity));
  if (slot->busy()) {
    slot->finished.push_back(std::move(activity));
    return;
  }
  residents_.touch(*slot);
  std::vector<FinishedActivity> finished;
  finished.push_back(std::move(activity));
  run_finished(*slot, std::move(finished));
}

void Turns::send_to_store(FinishedActivity activity) { committer_.add(as_ack(std::move(activity))); }

// -- fetched messages -----------------------------------------------------------------------------

void Turns::begin_fetched(LeasedInstance leased) {
  Slot& slot = residents_.use(leased.instance);
  residents_.begin_turn(slot);
  if (drop_if_lost(leased)) return;
  auto failure = refused_.take(leased);
  if (!failure) failure = poison(leased);
  if (failure) {
    slot.execution.reset();
    return condemn(std::move(leased), std::move(*failure));
  }
  if (leased.unreadable) {
    log_(LogLevel::error, "a message of an instance cannot be read; retrying later",
         {{"instance_id", leased.instance.value},
          {"error", *leased.unreadable},
          {"attempt", std::to_string(leased.attempt)}});
    return release_and_forget(leased, short_pause, Attempt::counted);
  }
  if (is_fresh(leased)) {
    slot.execution.reset();
    // Without the code, only the execution before tells whether the cancel needs the code.
    if (leased.status == Status::continued_as_new && holds<message::CancelInstance>(leased) &&
        !find_code(leased)) {
      return read_later(std::move(leased));
    }
    return run_fetched(std::move(leased), {});
  }
  if (slot.execution && !can_catch_up(slot, leased)) slot.execution.reset();
  if (slot.execution && slot.execution->last_event_id() == leased.last_event_id)
    return run_fetched(std::move(leased), {});
  read_later(std::move(leased));
}

/// A lease that was lost here through no fault of the instance is not an attempt.
std::optional<Failure> Turns::poison(const LeasedInstance& leased) {
  if (leased.attempt <= options_.max_attempts) return std::nullopt;
  const LostAttempts::Counts seen = lost_.of(leased);
  const std::uint32_t excused = detail::mutant("lost_leases_are_poison") ? 0 : seen.lost;
  if (leased.attempt <= std::uint64_t{options_.max_attempts} + excused) return std::nullopt;
  return poison_failure(leased, options_.max_attempts, seen);
}

/// This process stood still, or the store did not renew the lease: another node may have the instance.
bool Turns::drop_if_lost(const LeasedInstance& leased) {
  if (leases_.holds(leased.lease) || detail::mutant("turns_begin_after_their_lease")) return false;
  log_(LogLevel::warning, "the lease of an instance was over before its turn began; released",
       {{"instance_id", leased.instance.value}, {"attempt", std::to_string(leased.attempt)}});
  lost_.lost(leased);
  release_and_forget(leased, {}, Attempt::uncounted);
  return true;
}

/// The events that the resident misses, or all without one.
void Turns::read_later(LeasedInstance leased) {
  const Slot& slot = residents_.at(leased.instance);
  HistoryRequest request{leased.instance, leased.execution, {}};
  if (slot.execution) {
    request.after = slot.execution->last_event_id();
    request.token = slot.token;
  }
  to_read_.requests.push_back(std::move(request));
  to_read_.instances.push_back(std::move(leased));
}

std::shared_ptr<const OrchestrationHandler> Turns::find_code(const LeasedInstance& leased) const {
  const CodeName code = code_for(leased);
  return registry_.find_orchestration(code.orchestration, code.version);
}

/// Reads the missing events of all instances begun since the last call, at once.
void Turns::read_histories() {
  if (to_read_.instances.empty()) return;
  env_.run_elsewhere(Lane::store, [this, reads = std::exchange(to_read_, {})]() mutable {
    call_read_histories(std::move(reads));
  });
}

void Turns::call_read_histories(HistoryReads reads) {
  const std::vector<HistoryRequest>& requests = reads.requests;
  std::vector<Result<std::vector<Event>>> histories = provider_.read_histories(requests);
  if (histories.size() != requests.size() && !detail::mutant("answers_are_not_counted")) {
    Error wrong = base::wrong_number_of_answers("read_histories", histories.size(), requests.size());
    wrong.retryable = true;  // no instance is to blame
    histories.assign(requests.size(), wrong);
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    histories[i] = whole_history(provider_, reads.instances[i], requests[i].after, std::move(histories[i]));
  }
  env_.loop().post([this, reads = std::move(reads), histories = std::move(histories)]() mutable {
    histories_read(std::move(reads), std::move(histories));
  });
}

void Turns::histories_read(HistoryReads reads, std::vector<Result<std::vector<Event>>> histories) {
  for (std::size_t i = 0; i < reads.instances.size(); ++i)
    history_read(std::move(reads.instances[i]), std::move(histories[i]));
  read_histories();  // of residents that were discarded
}

void Turns::history_read(LeasedInstance leased, Result<std::vector<Event>> history) {
  if (history) return run_fetched(std::move(leased), *history);
  Slot& slot = residents_.at(leased.instance);
  if (history.error().code == ErrorCode::conflict && slot.execution) {
    // The store has lost the events that the resident ran on.
    log_(LogLevel::warning, "the store holds other events than this node has stored; reading all of them",
         {{"instance_id", leased.instance.value}});
    slot.execution.reset();
    return read_later(std::move(leased));
  }
  log_(LogLevel::error, "the history of an instance cannot be read; retrying later",
       {{"instance_id", leased.instance.value},
        {"error", history.error().describe()},
        {"attempt", std::to_string(leased.attempt)}});
  // After a failure of the store the instance is not to blame.
  release_and_forget(leased, short_pause, history.error().retryable ? Attempt::uncounted : Attempt::counted);
}

void Turns::run_fetched(LeasedInstance leased, const std::vector<Event>& history) {
  if (drop_if_lost(leased)) return;
  const InstanceId& instance = leased.instance;
  Slot& slot = residents_.at(instance);
  if (!slot.execution) {
    if (is_fresh(leased) && !put_beginning_first(leased)) {
      // Only later messages are visible yet: a clock was set back.
      return release_and_forget(leased, short_pause, Attempt::uncounted);
    }
    auto handler = find_code(leased);
    if (!handler && !ends_without_code(leased, history)) {
      // The instance waits for a node that has the code, however long its deployment takes.
      const CodeName code = code_for(leased);
      const Duration pause = unregistered_pause(instance);
      log_(LogLevel::warning,
           "no code is registered here for orchestration \"" + code.orchestration + "\" " +
               code.version.value_or("") + "; offered again in " + std::to_string(pause.count()) + " ms",
           {{"instance_id", instance.value}, {"attempt", std::to_string(leased.attempt)}});
      return release_and_forget(leased, pause, Attempt::uncounted);
    }
    slot.execution =
        builder_.make_execution(identity_of(leased), std::move(handler), std::move(leased.key_values));
  }
  const std::vector<MessageBody> bodies = take_bodies(leased);
  leases_.begin(leased.lease);
  PendingTurn turn =
      builder_.run(*slot.execution, is_fresh(leased) ? std::span<const Event>{} : std::span(history), bodies);
  turn.commit.basis = held_lease(leased, turn.taken);
  turn.token_before = leased.replay_token;
  // The instance awaits none of the messages: the commit only deletes them.
  if (turn.commit.events.empty()) turn.commit.change.status = leased.status;
  commit(std::move(turn));
}

/// The pause doubles each time, as far as this node remembers.
Duration Turns::unregistered_pause(const InstanceId& instance) {
  if (unregistered_.size() > max_remembered_) unregistered_.clear();
  auto [at, first] = unregistered_.try_emplace(instance, options_.unregistered_pause);
  if (!first) at->second = std::min(at->second * 2, options_.longest_unregistered_pause);
  return at->second;
}

/// Ends an instance without running its code.
void Turns::condemn(LeasedInstance leased, Failure failure) {
  log_(LogLevel::error, failure.message,
       {{"instance_id", leased.instance.value}, {"attempt", std::to_string(leased.attempt)}});
  env_.run_elsewhere(Lane::store, [this, leased = std::move(leased), failure = std::move(failure)]() mutable {
    call_read_condemned(std::move(leased), std::move(failure));
  });
}

void Turns::call_read_condemned(LeasedInstance leased, Failure failure) {
  Condemned condemned = read_condemned(provider_, leased);
  env_.loop().post([this, leased = std::move(leased), condemned = std::move(condemned),
                    failure = std::move(failure)]() mutable {
    run_condemned(std::move(leased), condemned, std::move(failure));
  });
}

void Turns::run_condemned(LeasedInstance leased, const Condemned& condemned, Failure failure) {
  const bool has_beginning = !is_fresh(leased) || put_beginning_first(leased);
  if (condemned.retry_later || !has_beginning)
    return release_and_forget(leased, short_pause, Attempt::uncounted);
  PendingTurn turn = condemned_turn(builder_, leased, condemned, std::move(failure), env_.clock().now());
  turn.commit.basis = HeldLease::all_of(leased);
  if (turn.commit.events.empty()) turn.commit.change.status = leased.status;
  commit(std::move(turn));
}

/// This node cannot work on the instance now.
void Turns::release_and_forget(const LeasedInstance& leased, Duration delay, Attempt attempt) {
  release({leased.incarnation, leased.lease}, delay, attempt);
  Slot& slot = residents_.at(leased.instance);
  slot.execution.reset();
  residents_.end_turn(slot);
  next(leased.instance);
}

void Turns::release(const TurnLease& lease, Duration delay, Attempt attempt) {
  leases_.forget(lease.token);
  const TurnRelease release{lease, delay, attempt == Attempt::counted};
  env_.run_elsewhere(Lane::store, [this, release] { call_release(release); });
}

void Turns::call_release(const TurnRelease& release) {
  const Result<void> result = provider_.release_turns(std::span(&release, 1));
  if (!result) {
    log_(LogLevel::warning, "releasing a turn failed; its lease ends at its deadline",
         {{"error", result.error().describe()}});
  }
}

// -- finished activities --------------------------------------------------------------------------

void Turns::run_finished(Slot& slot, std::vector<FinishedActivity> finished) {
  residents_.begin_turn(slot);
  const EventId before = slot.execution->last_event_id();
  std::vector<MessageBody> messages;
  messages.reserve(finished.size());
  for (const FinishedActivity& activity : finished) messages.push_back(as_message(activity));
  PendingTurn turn = builder_.run(*slot.execution, {}, messages);
  set_condition(turn, before, slot.token);
  // After an end nothing awaits the others. After a large turn they wait for the next one.
  const Status status = turn.commit.change.status;
  const bool ended = is_final(status) || status == Status::continued_as_new;
  const std::size_t taken = ended ? finished.size() : turn.taken.size();
  for (std::size_t i = 0; i < finished.size(); ++i) {
    if (i < taken) {
      turn.commit.activity_acks.push_back(as_ack(std::move(finished[i])));
    } else {
      slot.finished.push_back(std::move(finished[i]));
    }
  }
  commit(std::move(turn));
}

/// The turn under way is answered; continues with what arrived meanwhile.
void Turns::next(const InstanceId& instance) {
  Slot* slot = residents_.find(instance);
  if (slot == nullptr) return;
  // Even if its next turn could begin at once.
  if (options_.max_resident == 0) slot->execution.reset();
  std::vector<FinishedActivity> ours;
  for (FinishedActivity& activity : std::exchange(slot->finished, {})) {
    // A conditional commit fails while a fetch holds the lease, so the result goes to the store.
    if (!slot->fetched && slot->execution && is_of(activity, slot->execution->identity())) {
      ours.push_back(std::move(activity));
    } else {
      send_to_store(std::move(activity));
    }
  }
  if (slot->fetched) {
    begin_fetched(*std::exchange(slot->fetched, std::nullopt));
    read_histories();
  } else if (!slot->execution) {
    residents_.remove(instance);
  } else if (!ours.empty()) {
    run_finished(*slot, std::move(ours));
  } else {
    residents_.evict();
  }
}

// -- commits --------------------------------------------------------------------------------------

void Turns::commit(PendingTurn turn) {
  turn.sent = env_.clock().lease_now();
  committer_.add(std::move(turn));
}

void Turns::turn_answered(PendingTurn turn, Result<CommitResult> result) {
  const InstanceId instance = turn.instance();
  Slot& slot = residents_.at(instance);
  residents_.end_turn(slot);
  note_end(turn, result);
  if (is_stored(result)) {
    activities_.release(turn.reserved);
    if (slot.execution && !slot.execution->identity().incarnation)
      slot.execution->set_incarnation(result->incarnation);
    slot.token = turn.commit.events.empty() ? turn.token_before : turn.commit.token;
    after_commit_.apply(turn, *result);
    // The next turn, if there is one, belongs to another execution.
    const Status status = turn.commit.change.status;
    if (is_final(status) || status == Status::continued_as_new) slot.execution.reset();
  } else {
    activities_.cancel_reservation(turn.reserved);
    slot.execution.reset();  // it ran ahead of the store
    if (result && result->outcome == CommitOutcome::invalid) refused(turn, result->message);
  }
  turn.notify_caller(result);
  next(instance);
}

/// The lease of a fetch ends with the answer. Remembers why a turn was not stored.
void Turns::note_end(const PendingTurn& turn, const Result<CommitResult>& result) {
  if (is_stored(result)) lost_.forget(turn.instance());
  const auto* held = std::get_if<HeldLease>(&turn.commit.basis);
  if (held == nullptr) return;
  leases_.forget(held->token);
  if (result && result->outcome != CommitOutcome::lease_lost) return;
  lost_.lost(turn, turn.took > options_.max_turn_time);
}

/// The store can never hold this turn.
void Turns::refused(PendingTurn& turn, const std::string& why) {
  TurnCommit& commit = turn.commit;
  // Nothing is stored, and the caller of the start receives the reason.
  if (std::holds_alternative<FusedStart>(commit.basis)) return;
  log_(LogLevel::error,
       turn.condemned ? "the store cannot hold the failure of an instance; retrying when its lease ends"
                      : "the store cannot hold a turn of an instance; the instance fails",
       {{"instance_id", commit.instance.value}, {"error", why}});
  if (turn.condemned || detail::mutant("a_refused_turn_is_run_again")) return;
  refused_.remember(turn, why);
  // The finished activities do not run again: their results are stored without the turn, and cause the fetch.
  for (ActivityAck& ack : commit.activity_acks) committer_.add(std::move(ack));
  if (const auto* held = std::get_if<HeldLease>(&commit.basis))
    release({commit.incarnation, held->token}, {},
            commit.events.empty() ? Attempt::counted : Attempt::uncounted);
}

}  // namespace duramen::inline v0::runtime
