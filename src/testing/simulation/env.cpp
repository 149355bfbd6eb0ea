#include "testing/simulation/env.hpp"

#include <algorithm>

namespace duramen::inline v0::testing {

namespace {
// How long a function activity may wait for a thread.
constexpr std::uint64_t longest_wait_ms = 40;
// How long a call of the store may take.
constexpr std::uint64_t longest_call_ms = 20;
}  // namespace

SimulatedEnv::SimulatedEnv(const Clock& clock, SeededRandom random)
    : clock_(clock),
      random_(random),
      queues_{Queue(*this, "loop", true),        Queue(*this, "activity loop", true),
              Queue(*this, "leases", true),      Queue(*this, "store", true),
              Queue(*this, "activities", false), Queue(*this, "cancellation", false),
              Queue(*this, "background", true),  Queue(*this, "renewals", true)} {}

SimulatedEnv::~SimulatedEnv() {
  kill();
  drop_jobs();
}

void SimulatedEnv::Queue::post(Job job) {
  if (env_.dead_) return;
  jobs_.push_back(std::move(job));
}

void SimulatedEnv::Queue::post_first(Job job) {
  if (env_.dead_) return;
  jobs_.insert(jobs_.begin() + static_cast<std::ptrdiff_t>(urgent_++), std::move(job));
}

void SimulatedEnv::Queue::post_at(LeaseTime when, Job job) {
  if (env_.dead_) return;
  env_.timers_.emplace(std::pair(when, ++env_.posted_), std::pair(this, std::move(job)));
}

void SimulatedEnv::run_elsewhere(Lane lane, Job work) {
  Queue& queue = queues_[3 + static_cast<std::size_t>(lane)];
  if (lane == Lane::activities && random_.below(4) == 0) {
    return queue.post_at(
        clock_.lease_now() + Duration{static_cast<Duration::rep>(1 + random_.below(longest_wait_ms))},
        std::move(work));
  }
  if ((lane == Lane::store || lane == Lane::leases) && random_.below(8) == 0) {
    const Duration takes{static_cast<Duration::rep>(1 + random_.below(longest_call_ms))};
    queue.slow_until_ = std::max(queue.slow_until_, clock_.lease_now() + takes);
  }
  queue.post(std::move(work));
}

bool SimulatedEnv::loop_is_idle() const { return queues_[0].jobs_.empty() && random_.coin(); }

std::size_t SimulatedEnv::runnable() {
  if (dead_ || stalled_until_ > clock_.lease_now()) return 0;
  release_timers();
  return static_cast<std::size_t>(
      std::ranges::count_if(queues_, [now = clock_.lease_now()](const Queue& q) { return q.ready(now); }));
}

void SimulatedEnv::release_timers() {
  const LeaseTime now = clock_.lease_now();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    auto& [queue, job] = timers_.begin()->second;
    queue->jobs_.push_back(std::move(job));
    timers_.erase(timers_.begin());
  }
}

std::string_view SimulatedEnv::run(std::size_t index) {
  for (Queue& queue : queues_) {
    if (!queue.ready(clock_.lease_now()) || index-- > 0) continue;
    const auto at = queue.jobs_.begin() +
                    static_cast<std::ptrdiff_t>(queue.ordered_ ? 0 : random_.below(queue.jobs_.size()));
    Job job = std::move(*at);
    queue.jobs_.erase(at);
    if (queue.urgent_ > 0) --queue.urgent_;  // only an ordered queue has any
    job();
    return queue.name_;
  }
  return {};
}

std::optional<LeaseTime> SimulatedEnv::next_timer() const {
  if (dead_) return std::nullopt;
  std::optional<LeaseTime> next;
  if (!timers_.empty()) next = timers_.begin()->first.first;
  for (const Queue& queue : queues_) {
    if (!queue.jobs_.empty()) next = std::min(queue.slow_until_, next.value_or(queue.slow_until_));
  }
  if (next) next = std::max(*next, stalled_until_);
  return next;
}

void SimulatedEnv::drop_jobs() {
  // Moved out first: destroying a job may post again.
  auto timers = std::exchange(timers_, {});
  for (Queue& queue : queues_) {
    auto jobs = std::exchange(queue.jobs_, {});
    queue.urgent_ = 0;
    while (!jobs.empty()) jobs.pop_front();
  }
}

}  // namespace duramen::inline v0::testing
