// Keeps what a run asked of its store, so that the same can be asked again.
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
  std::size_t mark = 0;  ///< where the part that counts begins

  /// Turns per commit call in the part that counts.
  [[nodiscard]] double mean_batch() const;
};

class RecordingProvider final : public duramen::testing::ForwardingProvider {
 public:
  using duramen::testing::ForwardingProvider::ForwardingProvider;

  /// What comes before was only to warm up.
  void mark();
  /// Once nobody uses the provider any more.
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

  // Held during a call too: calls are kept in the order in which they were made, also if the loop makes one
  // beside the store's thread.
  std::mutex mutex_;
  Recording recording_;  // guarded by mutex_
};

}  // namespace bench
