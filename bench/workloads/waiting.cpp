#include "bench/workloads/waiting.hpp"

#include <duramen/orchestration.hpp>

#include <chrono>
#include <stdexcept>
#include <stop_token>

namespace bench {

namespace dm = duramen;

namespace {

constexpr std::chrono::seconds waiting_patience{20};

dm::Task<void> orchestrate_coroutine(dm::OrchestrationContext& ctx) {
  co_await ctx.schedule_activity<void>("CoroutineWait", std::string());
}
dm::Task<void> orchestrate_function(dm::OrchestrationContext& ctx) {
  co_await ctx.schedule_activity<void>("FunctionWait", std::string());
}

dm::ActivityTask<void> coroutine_wait(dm::ActivityContext& ctx, WaitingListener* listener) {
  listener->running(ctx.instance_id().value);
  co_await ctx.cancelled();
  listener->stopped(ctx.instance_id().value, now());
}

void function_wait(const dm::ActivityContext& ctx, WaitingListener& listener) {
  const std::string instance = ctx.instance_id().value;
  std::mutex mutex;
  std::condition_variable notified;
  bool stopped = false;
  // The only callback: a second one could end the wait and remove this one before it runs.
  const std::stop_callback on_stop(ctx.stop_token(), [&] {
    listener.stopped(instance, now());
    const std::lock_guard lock(mutex);
    stopped = true;
    notified.notify_all();
  });
  listener.running(instance);
  std::unique_lock lock(mutex);
  notified.wait(lock, [&stopped] { return stopped; });
}

}  // namespace

void add_waiting_orchestrations(dm::Registry& registry) {
  registry.add(wait_in_coroutine, orchestrate_coroutine);
  registry.add(wait_in_function, orchestrate_function);
}

void add_waiting_activities(dm::Registry& registry, WaitingListener& listener) {
  registry.add("CoroutineWait",
               [&listener](dm::ActivityContext& ctx) { return coroutine_wait(ctx, &listener); });
  registry.add("FunctionWait", [&listener](dm::ActivityContext& ctx) { function_wait(ctx, listener); });
}

void LocalWatch::running(const std::string& instance) {
  const std::lock_guard lock(mutex_);
  running_ = instance;
  changed_.notify_all();
}

void LocalWatch::stopped(const std::string& instance, Instant when) {
  const std::lock_guard lock(mutex_);
  stopped_ = instance;
  stopped_at_ = when;
  changed_.notify_all();
}

void LocalWatch::await_running(const std::string& instance) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, waiting_patience, [&] { return running_ == instance; })) {
    throw std::runtime_error("the activity of " + instance + " did not begin");
  }
}

Instant LocalWatch::await_stopped(const std::string& instance) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, waiting_patience, [&] { return stopped_ == instance; })) {
    throw std::runtime_error("the activity of " + instance + " received no stop request");
  }
  return *stopped_at_;
}

}  // namespace bench
