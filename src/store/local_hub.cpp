#include "store/local_hub.hpp"

#include <duramen/detail/mutant.hpp>
#include <duramen/store.hpp>

#include <algorithm>

namespace duramen::inline v0::detail {

std::shared_ptr<LocalHub> make_local_hub() { return std::make_shared<LocalHub>(); }

void LocalHub::attach(LocalRuntime& runtime) {
  std::lock_guard lock(runtimes_mutex_);
  runtimes_.push_back(&runtime);
  if (last_count_) runtime.counted(*last_count_);
}

void LocalHub::detach(LocalRuntime& runtime) {
  std::lock_guard lock(runtimes_mutex_);
  std::erase(runtimes_, &runtime);
  if (!runtimes_.empty()) return;
  // They would be old when the next runtime attaches, which counts at once.
  last_count_.reset();
  if (!mutant("a_restarted_runtime_skips_a_count")) last_count_began_.reset();
}

bool LocalHub::begin_count(LeaseTime now, Duration interval) {
  std::lock_guard lock(runtimes_mutex_);
  if (mutant("every_runtime_counts_the_store")) return true;
  if (counting_ || (last_count_began_ && now < *last_count_began_ + interval)) return false;
  counting_ = true;
  last_count_began_ = now;
  return true;
}

void LocalHub::end_count(const std::optional<StoreGauges>& gauges) {
  std::lock_guard lock(runtimes_mutex_);
  counting_ = false;
  if (!gauges) {
    if (!mutant("a_restarted_runtime_skips_a_count")) last_count_began_.reset();
    return;
  }
  last_count_ = gauges;  // for runtimes that attach later: the one that counted may not be attached yet
  for (LocalRuntime* runtime : runtimes_) runtime->counted(*gauges);
}

bool LocalHub::offer(StartRequest& request, UniqueFunction<void(Result<StartOutcome>)>& done) {
  std::lock_guard lock(runtimes_mutex_);
  for (LocalRuntime* runtime : runtimes_) {
    if (!runtime->runs(request.start)) continue;
    runtime->start(std::move(request), std::move(done));
    return true;
  }
  return false;
}

bool LocalHub::offer(const std::shared_ptr<LocalCancel>& request) {
  std::lock_guard lock(runtimes_mutex_);
  if (runtimes_.size() != 1) return false;
  runtimes_.front()->cancel(request);
  return true;
}

std::uint64_t LocalHub::await_end(const InstanceId& instance, OnEnd on_end) {
  std::lock_guard lock(waiters_mutex_);
  waiters_[instance].push_back(Waiter{++next_ticket_, std::move(on_end)});
  return next_ticket_;
}

void LocalHub::stop_waiting(const InstanceId& instance, std::uint64_t ticket) {
  std::lock_guard lock(waiters_mutex_);
  const auto found = waiters_.find(instance);
  if (found == waiters_.end()) return;
  std::erase_if(found->second, [ticket](const Waiter& waiter) { return waiter.ticket == ticket; });
  if (found->second.empty()) waiters_.erase(found);
}

bool LocalHub::announces(const NodeId& node) {
  if (node.empty()) return false;
  std::lock_guard lock(runtimes_mutex_);
  return std::ranges::any_of(runtimes_, [&](const LocalRuntime* runtime) { return runtime->node() == node; });
}

void LocalHub::announce_end(const InstanceId& instance, const EndedInstance& end) {
  decltype(waiters_)::node_type node;
  {
    std::lock_guard lock(waiters_mutex_);
    node = waiters_.extract(instance);
  }
  if (node.empty()) return;
  for (Waiter& waiter : node.mapped())
    // Without the lock: the callback may start or await another instance.
    waiter.on_end(end);
}

}  // namespace duramen::inline v0::detail
