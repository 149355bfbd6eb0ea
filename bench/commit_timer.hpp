// Times the calls of a run that wait for the disk.
#pragma once

#include <duramen/provider.hpp>
#include <duramen/testing/forwarding_provider.hpp>

#include <mutex>
#include <vector>

namespace bench {

class CommitTimer final : public duramen::testing::ForwardingProvider {
 public:
  using duramen::testing::ForwardingProvider::ForwardingProvider;

  /// Of all durable calls so far, including the wait for the store.
  [[nodiscard]] double median_ms() const;
  [[nodiscard]] double p99_ms() const;

  [[nodiscard]] duramen::Result<std::vector<duramen::StartOutcome>> start_instances(
      std::span<const duramen::StartRequest> requests) override;
  [[nodiscard]] duramen::Result<std::vector<duramen::EnqueueOutcome>> enqueue_messages(
      std::span<const duramen::OutboundMessage> messages) override;
  [[nodiscard]] duramen::Result<std::vector<duramen::CommitResult>> commit_turns(
      std::span<const duramen::TurnCommit> commits, const std::stop_token& preempt) override;

 private:
  template <class F>
  auto time(F&& call);

  mutable std::mutex mutex_;
  std::vector<double> calls_ms_;  // guarded by mutex_
};

}  // namespace bench
