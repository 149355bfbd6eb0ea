#include <duramen/runtime.hpp>

#include "base/longest_wait.hpp"
#include "base/name_check.hpp"
#include "runtime/node.hpp"
#include "runtime/threaded_env.hpp"
#include <duramen/detail/mutant.hpp>

#include <cstdio>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>

namespace duramen::inline v0 {

namespace {

NodeId make_node_id() {
  // Unique across restarts and machines: 128 random bits. The process id is for readers of the log.
  std::random_device random;
  char text[64];
  std::snprintf(text, sizeof text, "node-%d-%08x%08x%08x%08x", static_cast<int>(getpid()), random(), random(),
                random(), random());
  return NodeId(text);
}

void require(bool holds, std::string_view what) {
  if (!holds) throw std::invalid_argument("RuntimeOptions: " + std::string(what));
}

RuntimeOptions completed(RuntimeOptions options) {
  if (options.node.empty()) options.node = make_node_id();
  if (!options.log) options.log = text_log();
  if (options.activity_threads == 0) options.activity_threads = runtime::ThreadedEnv::default_threads();
  for (Duration* wait :
       {&options.activity_lease, &options.turn_lease, &options.poll_interval, &options.sweep_interval,
        &options.session_lease, &options.session_idle, &options.unregistered_pause,
        &options.longest_unregistered_pause, &options.cancel_grace, &options.slow_turn,
        &options.max_turn_time, &options.gauge_interval}) {
    *wait = base::no_longer(*wait);
  }
  const TagFilter& tags = options.tags;
  const bool checks = !detail::mutant("impossible_options_are_accepted");
  if (const auto problem = base::name_problem("node", options.node.value, max_node_bytes))
    require(!checks, problem->message);
  require(options.max_activities > 0, "max_activities is 0; to run no activities, register none");
  require(options.max_commit_batch > 0, "max_commit_batch is 0");
  require(!checks || options.max_actions_per_turn > 0, "max_actions_per_turn is 0; give at least 1");
  require(options.max_payload_bytes > 0 && options.max_payload_bytes <= payload_ceiling,
          "max_payload_bytes is 0 or above payload_ceiling (128 MiB)");
  require(options.session_owner.size() <= max_name_bytes, "session_owner is longer than 1024 bytes");
  require(options.max_attempts > 0, "max_attempts is 0");
  require(options.activity_lease >= Duration{3}, "activity_lease is shorter than 3 ms");
  require(options.turn_lease >= Duration{3}, "turn_lease is shorter than 3 ms");
  require(options.poll_interval > Duration{}, "poll_interval is not positive");
  require(options.sweep_interval > Duration{}, "sweep_interval is not positive");
  require(options.cancel_grace >= Duration{}, "cancel_grace is negative");
  require(options.slow_turn > Duration{}, "slow_turn is not positive");
  require(!checks || (options.max_engine_version > 0 && options.max_engine_version <= engine_version),
          "max_engine_version is " + std::to_string(options.max_engine_version) +
              "; this build reads the engine versions from 1 to " + std::to_string(engine_version));
  require(options.max_turn_time > Duration{}, "max_turn_time is not positive");
  require(options.min_engine_version <= options.max_engine_version,
          "min_engine_version is above max_engine_version");
  require(tags.tags.size() <= TagFilter::max_tags, "tags holds more than 5 tags");
  for (const std::string& tag : tags.tags) {
    require(!tag.empty() && tag.size() <= TagFilter::max_tag_bytes,
            "a tag is empty or longer than 256 bytes");
  }
  if (options.max_sessions > 0) {
    require(options.session_lease >= Duration{3}, "session_lease is shorter than 3 ms");
    // An activity uses its session when its lease is renewed: a used session must not count as idle.
    require(options.session_idle > options.activity_lease / 3,
            "session_idle must be longer than the interval at which activity leases are renewed (a third of "
            "activity_lease)");
  }
  return options;
}

}  // namespace

class Runtime::Impl {
 public:
  Impl(Store store, Registry registry, RuntimeOptions options)
      : store_(std::move(store)),
        options_(completed(std::move(options))),
        env_(store_.provider()->clock(), options_.activity_threads, store_.provider().get()),
        node_(std::make_unique<runtime::Node>(env_, store_, std::move(registry), options_)) {
    node_->run();
    node_->watch_turns();
    store_.local_hub()->attach(*node_);
  }

  void shutdown(Duration deadline) {
    std::lock_guard one_at_a_time(shutdown_mutex_);
    if (!node_) return;
    store_.local_hub()->detach(*node_);
    std::promise<void> drained;
    node_->shut_down(base::no_longer(deadline), [&drained] { drained.set_value(); });
    drained.get_future().wait();
    env_.stop();
    std::unique_ptr<runtime::Node> ended;
    {
      std::lock_guard lock(node_mutex_);
      ended = std::move(node_);
    }
    // Destroyed without a lock: the destructor logs, and the sink may call abandoned().
  }

  [[nodiscard]] const NodeId& node() const noexcept { return options_.node; }
  [[nodiscard]] const Clock& clock() const noexcept { return store_.provider()->clock(); }
  [[nodiscard]] std::size_t abandoned() {
    std::unique_lock<std::mutex> mutant;
    if (detail::mutant("shutdown_holds_up_questions")) mutant = std::unique_lock(shutdown_mutex_);
    std::lock_guard lock(node_mutex_);
    return node_ ? node_->abandoned_activities() : 0;
  }

 private:
  const Store store_;
  const RuntimeOptions options_;
  runtime::ThreadedEnv env_;
  std::mutex shutdown_mutex_;  // held during a whole shutdown
  // Held briefly: activities and sinks may need it.
  std::mutex node_mutex_;
  std::unique_ptr<runtime::Node> node_;  // changed under both mutexes
};

Runtime::Runtime(Store store, Registry registry, RuntimeOptions options)
    : impl_(std::make_unique<Impl>(std::move(store), std::move(registry), std::move(options))) {}

Runtime::~Runtime() {
  // A clock that a test moves would never reach a deadline.
  shutdown(impl_->clock().moves_by_itself() ? Duration{std::chrono::seconds{5}} : Duration{});
}

const NodeId& Runtime::node() const noexcept { return impl_->node(); }
std::size_t Runtime::abandoned_activities() const noexcept { return impl_->abandoned(); }

void Runtime::shutdown(Duration deadline) { impl_->shutdown(deadline); }

}  // namespace duramen::inline v0
