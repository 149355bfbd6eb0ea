#include "runtime/committer.hpp"

#include "base/check.hpp"

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
constexpr Duration longest_pause{1000};

template <class Waiting, class Entry, class Done>
void move_some(std::deque<Waiting>& from, std::size_t most, std::vector<Entry>& entries,
               std::vector<Done>& done) {
  for (; most > 0 && !from.empty(); --most) {
    entries.push_back(std::move(from.front().entry));
    done.push_back(std::move(from.front().done));
    from.pop_front();
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

void Committer::add_first(TurnCommit commit, TurnDone done) {
  first_.push_back({std::move(commit), std::move(done)});
  if (!in_flight_) env_.loop().post_first([this] { flush(); });
}

void Committer::add(WorkAck ack, AckDone done) {
  acks_.push_back({std::move(ack), std::move(done)});
  flush_soon();
}

/// Lets what the loop has queued already join the batch.
void Committer::flush_soon() {
  if (in_flight_ || std::exchange(flush_posted_, true)) return;
  env_.loop().post([this] {
    flush_posted_ = false;
    flush();
  });
}

void Committer::flush() {
  if (in_flight_ || nothing_waits()) return;
  auto batch = next_batch();
  if (in_flight_size_ == 1 && env_.loop_is_idle()) {
    store(*batch);
    finish(batch);
  } else {
    send(std::move(batch));
  }
}

std::shared_ptr<Committer::Batch> Committer::next_batch() {
  auto batch = std::make_shared<Batch>();
  const bool urgent = !first_.empty();
  const std::size_t limit =
      urgent ? std::min(options_.max_batch, first_.size() + beside_urgent) : options_.max_batch;
  const std::size_t most = std::min(first_.size() + turns_.size(), limit);
  batch->commits.reserve(most);
  batch->commit_done.reserve(most);
  move_some(first_, limit, batch->commits, batch->commit_done);
  move_some(turns_, limit - batch->commits.size(), batch->commits, batch->commit_done);
  move_some(acks_, urgent ? beside_urgent : acks_.size(), batch->acks, batch->ack_done);
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
  if (!batch.acks.empty() && (!batch.ack_results || batch.ack_results->empty())) {
    batch.ack_results = provider_.ack_work_items(batch.acks);
  }
  if (!batch.commits.empty() && (!batch.commit_results || batch.commit_results->empty())) {
    batch.commit_results = provider_.ack_orchestration_items(batch.commits);
  }
  if (instruments_.on()) {
    instruments_.commit_stored(
        batch.commits.size() + batch.acks.size(),
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
}

void Committer::finish(const std::shared_ptr<Batch>& batch) {
  const Error* error = !batch->commit_results ? &batch->commit_results.error()
                       : !batch->ack_results  ? &batch->ack_results.error()
                                              : nullptr;
  if (error != nullptr && error->retryable && env_.clock().lease_now() + batch->pause < batch->give_up) {
    log_(LogLevel::warning, "the store could not commit and will be asked again",
         {{"error", error->describe()}});
    const LeaseTime when = env_.clock().lease_now() + batch->pause;
    batch->pause = std::min(batch->pause * 2, longest_pause);
    env_.loop().post_at(when, [this, batch]() mutable { send(std::move(batch)); });
    return;
  }
  if (error != nullptr) log_(LogLevel::error, "the store did not commit", {{"error", error->describe()}});

  in_flight_ = false;
  in_flight_size_ = 0;
  // What gathered meanwhile leaves first, so that the store works while the loop tells everyone.
  if (!nothing_waits()) send(next_batch());
  tell(batch, 0);
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
                                : Result<CommitResult>{batch->commit_results.error()});
    } else {
      const std::size_t at = i - commits;
      batch->ack_done[at](batch->ack_results ? Result<AckResult>{(*batch->ack_results)[at]}
                                             : Result<AckResult>{batch->ack_results.error()});
    }
  }
  if (end < all) env_.loop().post_first([this, batch, end] { tell(batch, end); });
}

}  // namespace duramen::inline v0::runtime
