#include "bench/commit_timer.hpp"

#include "bench/measure.hpp"

namespace bench {

namespace dm = duramen;

template <class F>
auto CommitTimer::time(F&& call) {
  const Instant began = now();
  auto answer = call();
  const double ms = milliseconds_between(began, now());
  if (answer && answer->empty()) return answer;  // preempted: nothing was stored
  const std::lock_guard lock(mutex_);
  calls_ms_.push_back(ms);
  return answer;
}

double CommitTimer::median_ms() const {
  const std::lock_guard lock(mutex_);
  return median(calls_ms_);
}

double CommitTimer::p99_ms() const {
  const std::lock_guard lock(mutex_);
  std::vector<double> sorted = calls_ms_;
  return percentile(sorted, 0.99);
}

dm::Result<std::vector<dm::StartOutcome>> CommitTimer::start_instances(
    std::span<const dm::StartRequest> requests) {
  return time([&] { return inner().start_instances(requests); });
}

dm::Result<std::vector<dm::EnqueueOutcome>> CommitTimer::enqueue_messages(
    std::span<const dm::OutboundMessage> messages) {
  return time([&] { return inner().enqueue_messages(messages); });
}

dm::Result<std::vector<dm::CommitResult>> CommitTimer::commit_turns(std::span<const dm::TurnCommit> commits,
                                                                    const std::stop_token& preempt) {
  return time([&] { return inner().commit_turns(commits, preempt); });
}

}  // namespace bench
