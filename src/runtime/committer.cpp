#include "runtime/committer.hpp"

#include "base/check.hpp"
#include "store/answers.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace duramen::inline v0::runtime {

namespace {
// At this many waiting turns a batch leaves at once, so that the store works while the loop makes more.
constexpr std::size_t early_flush = 64;
// At most this many other turns and results join an urgent batch, so that it stays quick.
constexpr std::size_t joining_urgent = 32;
constexpr std::size_t joining_bytes = std::size_t{256} << 10u;
constexpr std::size_t notified_at_once = 32;
// A batch below this size waits for entries that the loop is about to add. Otherwise few turns in flight
// would form two groups, each waiting for the sync of the other. With many, the store should work while the
// loop does.
constexpr std::size_t few = 8;
// A small batch waits for at most this many rounds of the loop.
constexpr int most_rounds = 4;
constexpr Duration longest_pause{1000};
// A batch above this size takes nothing more. A larger one would hold up the store for long.
constexpr std::size_t large_batch = std::size_t{8} << 20u;

std::size_t estimated_bytes(const ActivityAck& ack) {
  std::size_t bytes = 256;  // keys, numbers and punctuation
  if (!ack.completion) return bytes;
  if (const auto* result = std::get_if<Payload>(&*ack.completion)) return bytes + result->data.size();
  if (detail::mutant("failures_weigh_nothing")) return bytes;
  const Failure& failure = std::get<Failure>(*ack.completion);
  bytes += failure.type.size() + failure.message.size() + failure.details.size();
  return bytes + (ack.heartbeat ? ack.heartbeat->data.size() : 0);
}
}  // namespace

Committer::Committer(Env& env, Provider& provider, Options options, TurnLeases& leases, CommitEvents& events,
                     const Log& log, const Instruments& instruments)
    : env_(env),
      provider_(provider),
      options_(options),
      leases_(leases),
      events_(events),
      log_(log),
      instruments_(instruments) {}

void Committer::add(PendingTurn turn) {
  turns_.push_back(std::move(turn));
  if (!in_flight_ && turns_.size() >= early_flush) return flush();
  flush_soon();
}

void Committer::add_urgent(PendingTurn turn) {
  urgent_.push_back(std::move(turn));
  preempt_.request_stop();
  if (!in_flight_) env_.loop().post_first([this] { flush(); });
}

void Committer::add(ActivityAck ack) {
  acks_.push_back(std::move(ack));
  flush_soon();
}

/// While another process writes, a batch waits anyway, and a larger one costs no more.
bool Committer::should_gather() const noexcept {
  if (in_flight_ || !urgent_.empty()) return false;
  const std::size_t waiting = turns_.size() + acks_.size();
  if (waiting == 0 || waiting >= std::min(early_flush, options_.max_batch)) return false;
  return waiting < few || provider_.is_contended();
}

/// Entries that the loop has queued already join the batch.
void Committer::flush_soon() {
  if (in_flight_ || std::exchange(flush_posted_, true)) return;
  env_.loop().post([this] { gather_or_flush(0); });
}

void Committer::gather_or_flush(int rounds) {
  if (rounds < most_rounds && should_gather() && !env_.loop_is_idle()) {
    env_.loop().post([this, rounds] { gather_or_flush(rounds + 1); });
    return;
  }
  flush_posted_ = false;
  flush();
}

void Committer::flush() {
  if (in_flight_ || nothing_waits()) return;
  auto batch = next_batch();
  // During maintenance the call would block the loop, and the loop could not preempt the maintenance. While
  // another process writes, the call would block the loop as well.
  if (in_flight_size_ == 1 && !maintaining_ && !provider_.is_contended() && env_.loop_is_idle()) {
    store(*batch);
    finish(batch);
  } else {
    send(std::move(batch));
  }
}

std::shared_ptr<Committer::Batch> Committer::next_batch() {
  auto batch = std::make_shared<Batch>();
  const bool urgent = !urgent_.empty();
  if (urgent)
    preempt_ = std::stop_source{};
  else
    batch->preempt = preempt_.get_token();
  const std::size_t limit =
      urgent ? std::min(options_.max_batch, urgent_.size() + joining_urgent) : options_.max_batch;
  const std::size_t most = std::min(urgent_.size() + turns_.size(), limit);
  batch->commits.reserve(most);
  batch->turns.reserve(most);
  // An urgent batch takes no large turns along.
  const std::size_t budget =
      urgent && !detail::mutant("large_turns_join_a_cancel") ? joining_bytes : large_batch;
  std::size_t bytes = 0;
  while (batch->commits.size() < limit && !(urgent_.empty() && turns_.empty())) {
    auto& from = urgent_.empty() ? turns_ : urgent_;
    bytes += from.front().bytes;
    if (bytes > budget && !batch->commits.empty() && !detail::mutant("batches_have_any_size")) break;
    batch->commits.push_back(std::move(from.front().commit));
    batch->turns.push_back(std::move(from.front()));
    from.pop_front();
  }
  const std::size_t most_acks = urgent ? joining_urgent : options_.max_batch;
  std::size_t ack_bytes = 0;
  for (; batch->acks.size() < most_acks && ack_bytes <= budget && !acks_.empty(); acks_.pop_front()) {
    ack_bytes += estimated_bytes(acks_.front());
    batch->acks.push_back(std::move(acks_.front()));
  }
  if (!urgent_.empty()) preempt_.request_stop();
  const LeaseTime now = env_.clock().lease_now();
  batch->retry_until = now + options_.retry_for;
  batch->retry_held_until = now + std::max(options_.retry_for, options_.retry_held_for);
  in_flight_ = true;
  in_flight_size_ = batch->commits.size() + batch->acks.size();
  return batch;
}

void Committer::send(std::shared_ptr<Batch> batch) {
  env_.run_elsewhere(Lane::store,
                     [this, batch = std::move(batch)]() mutable { store_and_finish(std::move(batch)); });
}

/// On the store's lane.
void Committer::store_and_finish(std::shared_ptr<Batch> batch) {
  store(*batch);
  // Before other jobs of the loop: the next batch waits for this, and so does every activity it stops.
  env_.loop().post_first([this, batch = std::move(batch)] { finish(batch); });
}

/// On the store's lane, or on the loop if that is quicker. A part that was stored before another part failed
/// is not sent again.
void Committer::store(Batch& batch) {
  leave_out_lost(batch);
  const auto began = std::chrono::steady_clock::now();
  std::size_t stored = 0;
  if (!batch.acks.empty() && (!batch.ack_results || batch.ack_results->empty()) &&
      !batch.preempt.stop_requested()) {
    batch.ack_results = provider_.ack_activities(batch.acks);
    if (batch.ack_results) stored += batch.ack_results->size();
  }
  if (!batch.commits.empty() && (!batch.commit_results || batch.commit_results->empty())) {
    batch.commit_results = provider_.commit_turns(batch.commits, batch.preempt);
    if (batch.commit_results) stored += batch.commit_results->size();
  }
  if (stored > 0 && instruments_.on()) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    instruments_.commit_stored(stored, took.count());
  }
}

/// True for a turn without a lease: its condition is checked by the store.
bool Committer::holds(const TurnCommit& commit) {
  const auto* held = std::get_if<HeldLease>(&commit.basis);
  return held == nullptr || leases_.holds(held->token);
}

/// Turns whose leases are over are not sent: this process may have stood still. A batch that was sent before
/// may be stored already, so the store answers for it.
void Committer::leave_out_lost(Batch& batch) {
  if (std::exchange(batch.sent, true) || detail::mutant("commits_are_sent_after_their_lease")) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < batch.commits.size(); ++i) {
    if (holds(batch.commits[i])) {
      if (kept != i) {
        batch.commits[kept] = std::move(batch.commits[i]);
        batch.turns[kept] = std::move(batch.turns[i]);
      }
      ++kept;
    } else {
      PendingTurn& lost = batch.lost.emplace_back(std::move(batch.turns[i]));
      lost.commit = std::move(batch.commits[i]);
    }
  }
  batch.commits.resize(kept);
  batch.turns.resize(kept);
}

void Committer::finish(const std::shared_ptr<Batch>& batch) {
  notify_lost(*batch);
  check_answer_count(*batch);
  requeue_skipped(*batch);
  const Error* error = !batch->commit_results ? &batch->commit_results.error()
                       : !batch->ack_results  ? &batch->ack_results.error()
                                              : nullptr;
  if (error != nullptr && retry(batch, *error)) return;
  if (error != nullptr)
    log_(LogLevel::error, "a commit failed and is not retried; its instances are fetched again",
         {{"error", error->describe()}});

  in_flight_ = false;
  in_flight_size_ = 0;
  maintain_if_due();
  // The next batch leaves before the answers are passed on, so that the store works meanwhile.
  if (should_gather()) {
    flush_soon();
  } else if (!nothing_waits()) {
    send(next_batch());
  }
  notify(batch, 0);
}

void Committer::notify_lost(Batch& batch) {
  for (PendingTurn& turn : std::exchange(batch.lost, {}))
    events_.turn_answered(std::move(turn), CommitResult{.outcome = CommitOutcome::lease_lost});
}

/// Sends the batch again after a pause. False if that would be useless or too late.
bool Committer::retry(const std::shared_ptr<Batch>& batch, const Error& error) {
  const LeaseTime when = env_.clock().lease_now() + batch->pause;
  const bool held = std::ranges::any_of(batch->commits, [this](const TurnCommit& commit) {
    return std::holds_alternative<HeldLease>(commit.basis) && holds(commit);
  });
  const bool endless = detail::mutant("a_failing_commit_is_retried_without_end");
  const LeaseTime until = !held       ? batch->retry_until
                          : endless   ? LeaseTime::max()
                          : stopping_ ? batch->retry_until
                                      : batch->retry_held_until;
  if (!error.retryable || when >= until) return false;
  log_(LogLevel::warning, "a commit failed; retrying", {{"error", error.describe()}});
  batch->pause = std::min(batch->pause * 2, longest_pause);
  // The batch may be stored already: its answers are needed soon.
  batch->preempt = {};
  env_.loop().post_at(when, [this, batch]() mutable { send(std::move(batch)); });
  return true;
}

/// Any provider may be in use. Only a preempted one may return fewer answers than entries.
void Committer::check_answer_count(Batch& batch) {
  const auto check = [&](auto& results, std::size_t entries, const char* operation) {
    if (!results || results->size() == entries) return;
    if (results->size() < entries && batch.preempt.stop_requested()) return;
    results = base::wrong_number_of_answers(operation, results->size(), entries);
  };
  check(batch.commit_results, batch.commits.size(), "commit_turns");
  check(batch.ack_results, batch.acks.size(), "ack_activities");
}

/// Entries that a preempted store has skipped wait again, before all others.
void Committer::requeue_skipped(Batch& batch) {
  if (batch.commit_results) {
    for (; batch.commits.size() > batch.commit_results->size(); batch.commits.pop_back()) {
      PendingTurn& turn = turns_.emplace_front(std::move(batch.turns.back()));
      turn.commit = std::move(batch.commits.back());
      batch.turns.pop_back();
    }
  }
  if (batch.ack_results) {
    for (; batch.acks.size() > batch.ack_results->size(); batch.acks.pop_back())
      acks_.push_front(std::move(batch.acks.back()));
  }
  in_flight_size_ = batch.commits.size() + batch.acks.size();
}

void Committer::maintain_if_due() {
  if (maintaining_ || !urgent_.empty() || !provider_.wants_maintenance()) return;
  maintaining_ = true;
  env_.run_elsewhere(Lane::store, [this, preempt = preempt_.get_token()] { maintain(preempt); });
}

/// On the store's lane.
void Committer::maintain(const std::stop_token& preempt) {
  provider_.maintain(preempt);
  env_.loop().post([this] { maintained(); });
}

/// Passes the answers on, from the `from`-th turn on: a few at a time, so that a cancel need not wait for
/// all.
void Committer::notify(const std::shared_ptr<Batch>& batch, std::size_t from) {
  const std::size_t all = batch->turns.size();
  const std::size_t end = std::min(all, from + notified_at_once);
  for (std::size_t i = from; i < end; ++i) {
    batch->turns[i].commit = std::move(batch->commits[i]);
    events_.turn_answered(std::move(batch->turns[i]),
                          batch->commit_results ? Result<CommitResult>{std::move((*batch->commit_results)[i])}
                                                : Result<CommitResult>{batch->commit_results.error()});
  }
  if (end < all) env_.loop().post_first([this, batch, end] { notify(batch, end); });
}

}  // namespace duramen::inline v0::runtime
