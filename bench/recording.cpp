#include "bench/recording.hpp"

#include <algorithm>
#include <utility>

namespace bench {

namespace dm = duramen;

double Recording::mean_batch() const {
  std::size_t calls_seen = 0;
  std::size_t turns = 0;
  for (std::size_t i = mark; i < calls.size(); ++i) {
    const auto* call = std::get_if<CommitCall>(&calls[i]);
    if (call == nullptr) continue;
    ++calls_seen;
    turns += call->commits.size();
  }
  return calls_seen == 0 ? 0 : static_cast<double>(turns) / static_cast<double>(calls_seen);
}

void RecordingProvider::mark() {
  const std::lock_guard lock(mutex_);
  recording_.mark = recording_.calls.size();
}

Recording RecordingProvider::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(recording_, {});
}

void RecordingProvider::keep(Call call) { recording_.calls.push_back(std::move(call)); }

dm::Result<std::vector<dm::StartOutcome>> RecordingProvider::start_instances(
    std::span<const dm::StartRequest> requests) {
  const std::lock_guard lock(mutex_);
  auto outcomes = inner().start_instances(requests);
  if (outcomes) keep(StartCall{{requests.begin(), requests.end()}});
  return outcomes;
}

dm::Result<std::vector<dm::EnqueueOutcome>> RecordingProvider::enqueue_messages(
    std::span<const dm::OutboundMessage> messages) {
  const std::lock_guard lock(mutex_);
  auto outcomes = inner().enqueue_messages(messages);
  if (outcomes) keep(EnqueueCall{{messages.begin(), messages.end()}});
  return outcomes;
}

dm::Result<dm::TurnBatch> RecordingProvider::fetch_turns(const dm::TurnFetch& request) {
  const std::lock_guard lock(mutex_);
  auto batch = inner().fetch_turns(request);
  if (batch && !batch->items.empty()) {
    TurnFetchCall call{request, {}};
    for (const dm::LeasedInstance& item : batch->items) call.leased.emplace_back(item.instance, item.lease);
    keep(std::move(call));
  }
  return batch;
}

dm::Result<std::vector<dm::CommitResult>> RecordingProvider::commit_turns(
    std::span<const dm::TurnCommit> commits, const std::stop_token& preempt) {
  const std::lock_guard lock(mutex_);
  auto results = inner().commit_turns(commits, preempt);
  if (results) {
    const auto stored = commits.first(results->size());
    keep(CommitCall{{stored.begin(), stored.end()}, *results});
  }
  return results;
}

dm::Result<dm::ActivityBatch> RecordingProvider::fetch_activities(const dm::ActivityFetch& request) {
  const std::lock_guard lock(mutex_);
  auto batch = inner().fetch_activities(request);
  if (batch && !batch->items.empty()) {
    ActivityFetchCall call{request, {}};
    for (const dm::LeasedActivity& item : batch->items) call.leased.push_back(item.lease);
    keep(std::move(call));
  }
  return batch;
}

dm::Result<std::vector<dm::AckResult>> RecordingProvider::ack_activities(
    std::span<const dm::ActivityAck> acks) {
  const std::lock_guard lock(mutex_);
  auto results = inner().ack_activities(acks);
  if (results) keep(AckCall{{acks.begin(), acks.end()}});
  return results;
}

}  // namespace bench
