// Group commit without timers: while one batch is being stored, what finishes meanwhile gathers into the
// next. Many leave as soon as the store is free, so that it works while the loop does; few, or what would
// have to wait for another process's turn to write, take along what the loop has still to do.
//
// Two things go to the store this way: turns, and the ends of activities whose instance is not at hand. All
// calls and callbacks are on the loop. When nothing else is going on, the loop makes the call itself: one
// step of a chain then costs one synced commit and no change of thread.
//
// Who wants something stopped does not wait for others. Such a turn goes into the next batch, which is a
// small one, and the store is told to be quick: it leaves the rest of the batch it is at, which is sent once
// more, and its housekeeping.
#pragma once

#include "runtime/instruments.hpp"
#include "runtime/log.hpp"
#include <duramen/env.hpp>
#include <duramen/function.hpp>
#include <duramen/provider.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <stop_token>
#include <vector>

namespace duramen::inline v0::runtime {

class Committer {
 public:
  struct Options {
    std::size_t max_batch = 250;
    Duration retry_for{};  ///< how long a store that fails for now is asked again: as long as leases are sure
                           ///< to hold
  };
  /// The commit is the one that was sent, for whoever has to do more with it.
  using TurnDone = UniqueFunction<void(Result<CommitResult>, TurnCommit& commit)>;
  using AckDone = UniqueFunction<void(Result<AckResult>)>;

  Committer(Env& env, Provider& provider, Options options, const Log& log, const Instruments& instruments);

  void add(TurnCommit commit, TurnDone done);
  /// In the next batch, before those that wait already: somebody wants something stopped.
  void add_urgent(TurnCommit commit, TurnDone done);
  void add(ActivityAck ack, AckDone done);

  /// Nothing gathered, nothing on its way.
  [[nodiscard]] bool idle() const noexcept { return !in_flight_ && nothing_waits(); }
  /// How many turns and activity ends are not stored yet.
  [[nodiscard]] std::size_t load() const noexcept {
    return urgent_.size() + turns_.size() + acks_.size() + in_flight_size_;
  }

 private:
  struct Batch {
    std::vector<TurnCommit> commits;
    std::vector<TurnDone> commit_done;
    std::vector<ActivityAck> acks;
    std::vector<AckDone> ack_done;
    std::stop_token preempt;  ///< none if it is urgent itself
    Result<std::vector<CommitResult>> commit_results{std::vector<CommitResult>{}};
    Result<std::vector<AckResult>> ack_results{std::vector<AckResult>{}};
    LeaseTime give_up;
    Duration pause{10};
  };
  template <class Entry, class Done>
  struct Queued {
    Entry entry;
    Done done;
  };

  [[nodiscard]] bool nothing_waits() const noexcept {
    return urgent_.empty() && turns_.empty() && acks_.empty();
  }
  [[nodiscard]] bool should_gather() const noexcept;
  void flush_soon();
  void flush_when_gathered(int rounds);
  void flush();
  [[nodiscard]] std::shared_ptr<Batch> next_batch();
  void store(Batch& batch);
  void send(std::shared_ptr<Batch> batch);
  void finish(const std::shared_ptr<Batch>& batch);
  void check_answer_count(Batch& batch);
  /// What a store in a hurry has left out waits again, before all others.
  void requeue_skipped(Batch& batch);
  void maintain_if_due();
  void tell(const std::shared_ptr<Batch>& batch, std::size_t from);

  // Fixed at construction.
  Env& env_;
  Provider& provider_;
  const Options options_;
  const Log& log_;
  const Instruments& instruments_;

  // The loop's.
  std::deque<Queued<TurnCommit, TurnDone>> urgent_;
  std::deque<Queued<TurnCommit, TurnDone>> turns_;
  std::deque<Queued<ActivityAck, AckDone>> acks_;
  std::stop_source preempt_;  ///< requested as long as there is something in first_
  std::size_t in_flight_size_ = 0;
  bool in_flight_ = false;
  bool maintaining_ = false;
  bool flush_posted_ = false;
};

}  // namespace duramen::inline v0::runtime
