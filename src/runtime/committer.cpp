#include "runtime/committer.hpp"

#include "base/check.hpp"
#include "store/answers.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace duramen::inline v0::runtime {

namespace {
// At this many waiting turns a batch leaves at once, so that the store works while the loop goes on making
// more.
constexpr std::size_t early_flush = 64;
// A batch that stops something is small, so that it is quick: so much of the rest goes with it.
constexpr std::size_t beside_urgent = 32;
constexpr std::size_t told_at_once = 32;
// Fewer than this wait for what else the loop is about to have. With few in flight there would else be two
// groups of them in turn, each waiting for the sync of the other; with many, the store should work while the
// loop does.
constexpr std::size_t few = 8;
// So often the loop goes through its queue meanwhile, at most.
constexpr int most_rounds = 4;
constexpr Duration longest_pause{1000};

template <class Queued, class Entry, class Done>
void move_some(std::deque<Queued>& from, std::size_t most, std::vector<Entry>& entries,
               std::vector<Done>& done) {
  for (; most > 0 && !from.empty(); --most) {
    entries.push_back(std::move(from.front().entry));
    done.push_back(std::move(from.front().done));
    from.pop_front();
  }
}

template <class Queued, class Entry, class Done>
void move_back(std::size_t kept, std::vector<Entry>& entries, std::vector<Done>& done,
               std::deque<Queued>& to) {
  for (; entries.size() > kept; entries.pop_back(), done.pop_back()) {
    to.push_front({std::move(entries.back()), std::move(done.back())});
  }
}
}  // namespace

Committer::Committer(Env& env, Provider& provider, Options options, const Log& log,
                     const Instruments& instruments)
    : env_(env), provider_(provider), options_(options), log_(log), instruments_(instruments) {}

void Committer::add(TurnCommit commit, TurnDone done) {
  turns_.push_back({std::move(commit), std::move(done)});
  if (!in_flight_ && turns_.size() >= early_flush) return flush();
  flush_soon();
}

void Committer::add_urgent(TurnCommit commit, TurnDone done) {
  urgent_.push_back({std::move(commit), std::move(done)});
  preempt_.request_stop();
  if (!in_flight_) env_.loop().post_first([this] { flush(); });
}

void Committer::add(ActivityAck ack, AckDone done) {
  acks_.push_back({std::move(ack), std::move(done)});
  flush_soon();
}

/// While another process writes, a batch waits for its turn anyway, and its turn should carry much.
bool Committer::should_gather() const noexcept {
  if (in_flight_ || !urgent_.empty()) return false;
  const std::size_t waiting = turns_.size() + acks_.size();
  if (waiting == 0 || waiting >= std::min(early_flush, options_.max_batch)) return false;
  return waiting < few || provider_.is_contended();
}

/// Lets what the loop has queued already join the batch.
void Committer::flush_soon() {
  if (in_flight_ || std::exchange(flush_posted_, true)) return;
  flush_when_gathered(0);
}

void Committer::flush_when_gathered(int rounds) {
  env_.loop().post([this, rounds] {
    if (rounds < most_rounds && should_gather() && !env_.loop_is_idle())
      return flush_when_gathered(rounds + 1);
    flush_posted_ = false;
    flush();
  });
}

void Committer::flush() {
  if (in_flight_ || nothing_waits()) return;
  auto batch = next_batch();
  // A store that is tidying up would make the loop wait, and then nobody could tell it of a preempt; so would
  // one that waits for another process.
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
      urgent ? std::min(options_.max_batch, urgent_.size() + beside_urgent) : options_.max_batch;
  const std::size_t most = std::min(urgent_.size() + turns_.size(), limit);
  batch->commits.reserve(most);
  batch->commit_done.reserve(most);
  move_some(urgent_, limit, batch->commits, batch->commit_done);
  move_some(turns_, limit - batch->commits.size(), batch->commits, batch->commit_done);
  move_some(acks_, urgent ? beside_urgent : options_.max_batch, batch->acks, batch->ack_done);
  if (!urgent_.empty()) preempt_.request_stop();
  batch->give_up = env_.clock().lease_now() + options_.retry_for;
  in_flight_ = true;
  in_flight_size_ = batch->commits.size() + batch->acks.size();
  return batch;
}

void Committer::send(std::shared_ptr<Batch> batch) {
  env_.run_elsewhere(Lane::store, [this, batch = std::move(batch)]() mutable {
    store(*batch);
    // First: the next batch waits for it, and whoever is to be stopped by this one.
    env_.loop().post_first([this, batch = std::move(batch)] { finish(batch); });
  });
}

/// On the store's thread, or on the loop if that is quicker. What was stored before a failed part is
/// remembered and not sent again.
void Committer::store(Batch& batch) {
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

void Committer::finish(const std::shared_ptr<Batch>& batch) {
  check_answer_count(*batch);
  requeue_skipped(*batch);
  const Error* error = !batch->commit_results ? &batch->commit_results.error()
                       : !batch->ack_results  ? &batch->ack_results.error()
                                              : nullptr;
  if (error != nullptr && error->retryable && env_.clock().lease_now() + batch->pause < batch->give_up) {
    log_(LogLevel::warning, "the store could not commit and will be asked again",
         {{"error", error->describe()}});
    const LeaseTime when = env_.clock().lease_now() + batch->pause;
    batch->pause = std::min(batch->pause * 2, longest_pause);
    batch->preempt = {};  // it may be stored already, and whether it is should be known soon
    env_.loop().post_at(when, [this, batch]() mutable { send(std::move(batch)); });
    return;
  }
  if (error != nullptr) log_(LogLevel::error, "the store did not commit", {{"error", error->describe()}});

  in_flight_ = false;
  in_flight_size_ = 0;
  maintain_if_due();
  // What gathered meanwhile leaves first, so that the store works while the loop tells everyone.
  if (should_gather()) {
    flush_soon();
  } else if (!nothing_waits()) {
    send(next_batch());
  }
  tell(batch, 0);
}

/// A provider may be anybody's. Fewer answers than entries are for a hurry alone.
void Committer::check_answer_count(Batch& batch) {
  const auto check = [&](auto& results, std::size_t entries, const char* operation) {
    if (!results || results->size() == entries) return;
    if (results->size() < entries && batch.preempt.stop_requested()) return;
    results = base::wrong_number_of_answers(operation, results->size(), entries);
  };
  check(batch.commit_results, batch.commits.size(), "commit_turns");
  check(batch.ack_results, batch.acks.size(), "ack_activities");
}

void Committer::requeue_skipped(Batch& batch) {
  if (batch.commit_results) move_back(batch.commit_results->size(), batch.commits, batch.commit_done, turns_);
  if (batch.ack_results) move_back(batch.ack_results->size(), batch.acks, batch.ack_done, acks_);
  in_flight_size_ = batch.commits.size() + batch.acks.size();
}

void Committer::maintain_if_due() {
  if (maintaining_ || !urgent_.empty() || !provider_.wants_maintenance()) return;
  maintaining_ = true;
  env_.run_elsewhere(Lane::store, [this, preempt = preempt_.get_token()] {
    provider_.maintain(preempt);
    env_.loop().post([this] { maintaining_ = false; });
  });
}

/// Tells whoever waits for the batch, from the `from`-th on: a few at a time, so that a cancel need not wait
/// for all.
void Committer::tell(const std::shared_ptr<Batch>& batch, std::size_t from) {
  const std::size_t commits = batch->commit_done.size();
  const std::size_t all = commits + batch->ack_done.size();
  const std::size_t end = std::min(all, from + told_at_once);
  for (std::size_t i = from; i < end; ++i) {
    if (i < commits) {
      batch->commit_done[i](batch->commit_results
                                ? Result<CommitResult>{std::move((*batch->commit_results)[i])}
                                : Result<CommitResult>{batch->commit_results.error()},
                            batch->commits[i]);
    } else {
      const std::size_t at = i - commits;
      batch->ack_done[at](batch->ack_results ? Result<AckResult>{(*batch->ack_results)[at]}
                                             : Result<AckResult>{batch->ack_results.error()});
    }
  }
  if (end < all) env_.loop().post_first([this, batch, end] { tell(batch, end); });
}

}  // namespace duramen::inline v0::runtime
