// A node on a memory store in which nothing runs by itself.
#pragma once

#include "runtime/node.hpp"
#include "runtime/still_env.hpp"
#include <duramen/forwarding_provider.hpp>
#include <duramen/testing/memory_provider.hpp>

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace duramen::test {

/// Counts the calls by name, and does something before one.
class WatchedProvider final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::map<std::string, int, std::less<>> calls;
  std::map<std::string, std::function<void()>, std::less<>> before_call;
  std::map<std::string, std::function<void()>, std::less<>> after_call;
  std::vector<std::vector<std::string>> batches;  ///< the instances of each commit_turns

  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    auto& batch = batches.emplace_back();
    for (const TurnCommit& commit : commits) batch.push_back(commit.instance.value);
    return ForwardingProvider::commit_turns(commits, preempt);
  }

 protected:
  std::optional<Error> before(ProviderCall& call) override {
    ++calls[std::string(call.operation)];
    if (const auto found = before_call.find(call.operation); found != before_call.end()) found->second();
    return std::nullopt;
  }
  void answered(const ProviderCall& call, const Error* /*error*/) override {
    if (const auto found = after_call.find(call.operation); found != after_call.end()) found->second();
  }
};

class StillNode {
 public:
  /// Makes the node. The first fetches find nothing.
  runtime::Node& begin(RuntimeOptions with = {}) {
    with.node = NodeId("node");
    if (!with.log) {
      with.log = [this](const LogRecord& record) { log.emplace_back(record.message); };
    }
    node = std::make_unique<runtime::Node>(env, Store(watched), registry, std::move(with));
    node->run();
    env.settle();
    return *node;
  }
  /// Puts a start into the store, for a fetch.
  template <class In>
  void enqueue_start(const InstanceId& instance, const std::string& orchestration, const In& input) {
    StartRequest request;
    request.instance = instance;
    request.start.orchestration = orchestration;
    request.start.input = encode_payload<In>(input);
    const auto outcome = memory->start_instances({&request, 1});
    if (!outcome) throw std::runtime_error(outcome.error().describe());
  }
  [[nodiscard]] Status status(const InstanceId& instance) {
    return memory->get_instance(instance).value().value().status;
  }
  [[nodiscard]] std::size_t logged(const std::string& text) const {
    std::size_t count = 0;
    for (const std::string& line : log) count += line.find(text) != std::string::npos ? 1 : 0;
    return count;
  }

  StillEnv env;
  std::vector<std::string> log;
  std::shared_ptr<testing::MemoryProvider> memory = std::make_shared<testing::MemoryProvider>(env.time);
  std::shared_ptr<WatchedProvider> watched = std::make_shared<WatchedProvider>(memory);
  Registry registry;
  std::unique_ptr<runtime::Node> node;
};

}  // namespace duramen::test
