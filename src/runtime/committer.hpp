// Group commit without timers: while one batch is being stored, new entries gather into the next.
//
// A large batch leaves as soon as the store is free, so that the store works while the loop does. A small
// batch, or one that would wait for another process to write, first takes along the entries that the loop is
// about to add.
//
// Two kinds of entries go to the store this way: turns, and results of activities whose instance is not
// resident. All calls and callbacks are on the loop. When nothing else is going on, the loop makes the call
// itself: one step of a chain then costs one synced commit and no change of thread.
//
// An urgent turn, which stops something, does not wait for others. It goes into the next batch, which is
// small in number and in bytes, and preempts the store: the store leaves out the rest of the batch it is
// storing, which is sent again, and its maintenance.
#pragma once

#include "runtime/instruments.hpp"
#include "runtime/log.hpp"
#include "runtime/pending_turn.hpp"
#include "runtime/turn_leases.hpp"
#include <duramen/env.hpp>
#include <duramen/provider.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <stop_token>
#include <vector>

namespace duramen::inline v0::runtime {

/// The answers to commits. On the loop.
class CommitEvents {
 public:
  /// The store has answered the turn, or it could not be stored.
  virtual void turn_answered(PendingTurn turn, Result<CommitResult> result) = 0;

 protected:
  ~CommitEvents() = default;
};

class Committer {
 public:
  struct Options {
    std::size_t max_batch = 250;
    /// How long a commit is retried after a retryable error.
    Duration retry_for{};
    /// The same while this node holds a lease of it: the other commits of the node wait.
    Duration retry_held_for{};
  };

  Committer(Env& env, Provider& provider, Options options, TurnLeases& leases, CommitEvents& events,
            const Log& log, const Instruments& instruments);

  /// Each turn is answered once, by CommitEvents::turn_answered.
  void add(PendingTurn turn);
  /// The turn goes into the next batch, before those that wait already.
  void add_urgent(PendingTurn turn);
  /// Has no answer. A refused result belongs to an activity that was cancelled or taken over; after a failed
  /// call the lease ends and the activity runs again.
  void add(ActivityAck ack);
  /// From now on leases make no retry longer.
  void stop() noexcept { stopping_ = true; }

  /// Nothing is queued or being stored.
  [[nodiscard]] bool idle() const noexcept { return !in_flight_ && nothing_waits(); }

 private:
  struct Batch {
    std::vector<TurnCommit> commits;
    std::vector<PendingTurn> turns;  // of each commit, without the commit
    std::vector<PendingTurn> lost;   // never sent: their leases were over
    std::vector<ActivityAck> acks;
    // Without a state if the batch is urgent itself.
    std::stop_token preempt;
    Result<std::vector<CommitResult>> commit_results{std::vector<CommitResult>{}};
    Result<std::vector<AckResult>> ack_results{std::vector<AckResult>{}};
    LeaseTime retry_until;
    LeaseTime retry_held_until;
    bool sent = false;
    Duration pause{10};
  };

  [[nodiscard]] bool nothing_waits() const noexcept {
    return urgent_.empty() && turns_.empty() && acks_.empty();
  }
  [[nodiscard]] bool should_gather() const noexcept;
  void flush_soon();
  void gather_or_flush(int rounds);
  void flush();
  [[nodiscard]] std::shared_ptr<Batch> next_batch();
  void store(Batch& batch);
  void leave_out_lost(Batch& batch);
  [[nodiscard]] bool holds(const TurnCommit& commit);
  void send(std::shared_ptr<Batch> batch);
  void store_and_finish(std::shared_ptr<Batch> batch);
  void finish(const std::shared_ptr<Batch>& batch);
  [[nodiscard]] bool retry(const std::shared_ptr<Batch>& batch, const Error& error);
  void check_answer_count(Batch& batch);
  void requeue_skipped(Batch& batch);
  void maintain_if_due();
  void maintain(const std::stop_token& preempt);
  void maintained() noexcept { maintaining_ = false; }
  void notify(const std::shared_ptr<Batch>& batch, std::size_t from);
  void notify_lost(Batch& batch);

  // Fixed at construction.
  Env& env_;
  Provider& provider_;
  const Options options_;
  TurnLeases& leases_;
  CommitEvents& events_;
  const Log& log_;
  const Instruments& instruments_;

  // The loop's.
  std::deque<PendingTurn> urgent_;
  std::deque<PendingTurn> turns_;
  std::deque<ActivityAck> acks_;
  std::stop_source preempt_;  // requested as long as urgent_ holds a turn
  std::size_t in_flight_size_ = 0;
  bool in_flight_ = false;
  bool maintaining_ = false;
  bool flush_posted_ = false;
  bool stopping_ = false;
};

}  // namespace duramen::inline v0::runtime
