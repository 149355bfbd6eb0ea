#include <duramen/runtime.hpp>

#include <unistd.h>

#include <cstdio>
#include <future>
#include <mutex>
#include <random>
#include <string>

#include "runtime/node.hpp"
#include "runtime/threaded_env.hpp"

namespace duramen::inline v0 {

namespace {

NodeId make_node_id() {
  // Unique also across restarts and machines: 128 random bits, and the process for whoever reads it.
  std::random_device random;
  char text[64];
  std::snprintf(text, sizeof text, "node-%d-%08x%08x%08x%08x", static_cast<int>(getpid()), random(), random(), random(),
                random());
  return NodeId(text);
}

void log_to_stderr(LogLevel level, std::string_view message) {
  if (level < LogLevel::warning) return;
  const std::string line = "duramen: " + std::string(to_string(level)) + ": " + std::string(message) + "\n";
  std::fputs(line.c_str(), stderr);
}

RuntimeOptions completed(RuntimeOptions options) {
  if (options.node.empty()) options.node = make_node_id();
  if (!options.log) options.log = log_to_stderr;
  return options;
}

}  // namespace

class Runtime::Impl {
 public:
  Impl(Store store, Registry registry, RuntimeOptions options)
      : store_(std::move(store)),
        options_(completed(std::move(options))),
        env_(store_.provider()->clock(), options_.activity_threads),
        node_(std::in_place, env_, store_, std::move(registry), options_) {
    node_->run();
    store_.neighbourhood()->attach(*node_);
  }

  void shutdown(Duration deadline) {
    std::lock_guard lock(mutex_);
    if (!node_) return;
    store_.neighbourhood()->detach(*node_);
    std::promise<void> drained;
    node_->shut_down(deadline, [&drained] { drained.set_value(); });
    drained.get_future().wait();
    env_.stop();
    node_.reset();
  }

  [[nodiscard]] const NodeId& node() const noexcept { return options_.node; }

 private:
  const Store store_;
  const RuntimeOptions options_;
  runtime::ThreadedEnv env_;
  std::mutex mutex_;
  std::optional<runtime::Node> node_;  // guarded by mutex_
};

Runtime::Runtime(Store store, Registry registry, RuntimeOptions options)
    : impl_(std::make_unique<Impl>(std::move(store), std::move(registry), std::move(options))) {}

Runtime::~Runtime() { shutdown(); }

const NodeId& Runtime::node() const noexcept { return impl_->node(); }

void Runtime::shutdown(Duration deadline) { impl_->shutdown(deadline); }

}  // namespace duramen::v0
