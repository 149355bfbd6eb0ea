// Records the store calls of a run, so that they can be replayed.
#pragma once

#include <duramen/provider.hpp>
#include <duramen/testing/forwarding_provider.hpp>

#include <cstddef>
#include <mutex>
#include <variant>
#include <vector>

namespace bench {

struct CommitCall {
  std::vector<duramen::TurnCommit> commits;
  std::vector<duramen::CommitResult> results;
};
struct AckCall {
  std::vector<duramen::ActivityAck> acks;
};
struct StartCall {
  std::vector<duramen::StartRequest> requests;
};
struct EnqueueCall {
  std::vector<duramen::OutboundMessage> messages;
};
struct TurnFetchCall {
  duramen::TurnFetch request;
  std::vector<std::pair<duramen::InstanceId, duramen::LeaseToken>> leased;
};
struct ActivityFetchCall {
  duramen::ActivityFetch request;
  std::vector<duramen::ActivityLease> leased;
};
using Call = std::variant<CommitCall, AckCall, StartCall, EnqueueCall, TurnFetchCall, ActivityFetchCall>;

/// The calls that changed something, in the order in which they returned.
struct Recording {
  std::vector<Call> calls;
  std::size_t mark = 0;  ///< where the timed part begins

  /// Turns per commit call in the timed part.
  [[nodiscard]] double mean_batch() const;
};

class RecordingProvider final : public duramen::testing::ForwardingProvider {
 public:
  using duramen::testing::ForwardingProvider::ForwardingProvider;

  /// Begins the timed part: earlier calls were warm-up.
  void mark();
  /// Call it when the provider is no longer used.
  [[nodiscard]] Recording take();

  [[nodiscard]] duramen::Result<std::vector<duramen::StartOutcome>> start_instances(
      std::span<const duramen::StartRequest> requests) override;
  [[nodiscard]] duramen::Result<std::vector<duramen::EnqueueOutcome>> enqueue_messages(
      std::span<const duramen::OutboundMessage> messages) override;
  [[nodiscard]] duramen::Result<duramen::TurnBatch> fetch_turns(const duramen::TurnFetch& request) override;
  [[nodiscard]] duramen::Result<std::vector<duramen::CommitResult>> commit_turns(
      std::span<const duramen::TurnCommit> commits, const std::stop_token& preempt) override;
  [[nodiscard]] duramen::Result<duramen::ActivityBatch> fetch_activities(
      const duramen::ActivityFetch& request) override;
  [[nodiscard]] duramen::Result<std::vector<duramen::AckResult>> ack_activities(
      std::span<const duramen::ActivityAck> acks) override;

 private:
  void keep(Call call);

  // Held during a call as well: calls are recorded in order, even if the loop and the store's thread call at
  // once.
  std::mutex mutex_;
  Recording recording_;  // guarded by mutex_
};

}  // namespace bench
