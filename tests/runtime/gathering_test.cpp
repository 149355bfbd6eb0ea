// Turns that go to the store together.
#include "runtime/world.hpp"
#include <duramen/forwarding_provider.hpp>

#include <algorithm>
#include <atomic>
#include <latch>
#include <mutex>

namespace duramen::test {
namespace {

/// Its first batch of several waits until it may be stored; the first fetch behind it shows that the loop
/// has received the answer.
class Observed final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::atomic<bool> contended{false};  ///< as if another process were writing all the time
  std::latch has_batch{1};
  std::latch may_store{1};
  std::latch told{1};

  std::unique_ptr<Subscription> subscribe(NodeId node, ProviderListener& listener) override {
    if (!node.value.empty()) runtime_ = &listener;
    return ForwardingProvider::subscribe(std::move(node), listener);
  }
  void have_it_fetch() { runtime_.load()->turns_ready(); }
  Result<TurnBatch> fetch_turns(const TurnFetch& request) override {
    if (seen_ && !std::exchange(has_told_, true)) told.count_down();
    return ForwardingProvider::fetch_turns(request);
  }
  [[nodiscard]] bool is_contended() const noexcept override { return contended; }
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    // One alone may be stored by the loop.
    if (commits.size() > 1 && !seen_) {
      has_batch.count_down();
      may_store.wait();
      seen_ = true;
    }
    {
      const std::lock_guard lock(mutex_);
      std::vector<InstanceId>& batch = batches_.emplace_back();
      for (const TurnCommit& commit : commits) batch.push_back(commit.instance);
    }
    return ForwardingProvider::commit_turns(commits, preempt);
  }
  /// True if turns of these two were stored together.
  [[nodiscard]] bool together(const InstanceId& one, const InstanceId& other) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(batches_, [&](const std::vector<InstanceId>& batch) {
      return std::ranges::find(batch, one) != batch.end() && std::ranges::find(batch, other) != batch.end();
    });
  }

 private:
  std::atomic<ProviderListener*> runtime_{nullptr};
  bool seen_ = false;      // the store lane's
  bool has_told_ = false;  // likewise
  mutable std::mutex mutex_;
  std::vector<std::vector<InstanceId>> batches_;  // guarded by mutex_
};

/// The answer to a batch comes while the loop is busy, so that the loop receives it before it runs the last
/// start. True if the last start is stored together with the turns that waited for the answer: `before`
/// instances and one more.
bool last_goes_along(bool contended, int before) {
  const auto provider = std::make_shared<Observed>(std::make_shared<testing::MemoryProvider>(system_clock()));
  provider->contended = contended;
  const Store store{provider};
  Client client{store};
  std::latch first_entered{1};
  std::latch first_may_go{1};
  std::latch second_entered{1};
  std::latch second_may_go{1};
  std::latch all_started{before + 4};
  Registry registry;
  registry.add("block", [&](OrchestrationContext&, int number) -> Task<int> {
    (number == 1 ? first_entered : second_entered).count_down();
    (number == 1 ? first_may_go : second_may_go).wait();
    co_return number;
  });
  registry.add("pass", [](OrchestrationContext&) -> Task<int> { co_return 0; });
  RuntimeOptions options;
  options.log = [](const LogRecord&) {};
  Runtime runtime(store, registry, options);
  std::vector<InstanceId> all;
  const auto start = [&](const std::string& instance, const char* orchestration, Payload input) {
    all.emplace_back(instance);
    StartRequest request;
    request.instance = instance;
    request.start.orchestration = orchestration;
    request.start.input = std::move(input);
    client.start_async(std::move(request), [&](const Result<StartOutcome>&) { all_started.count_down(); });
  };
  start("first", "block", Payload::json("1"));
  first_entered.wait();
  start("beside-it", "pass", Payload::none());
  first_may_go.count_down();
  provider->has_batch.wait();  // of these two
  provider->have_it_fetch();
  for (int i = 0; i < before; ++i) start("waits-" + std::to_string(i), "pass", Payload::none());
  start("second", "block", Payload::json("2"));
  second_entered.wait();
  start("after-it", "pass", Payload::none());
  provider->may_store.count_down();
  provider->told.wait();
  second_may_go.count_down();
  all_started.wait();
  for (const InstanceId& instance : all) {
    EXPECT_EQ(client.wait(instance, forever).value().status, Status::completed);
  }
  return provider->together("second", "after-it");
}

TEST(Gathering, ASmallBatchTakesAlongWhatTheLoopIsAboutToAdd) { EXPECT_TRUE(last_goes_along(false, 0)); }

TEST(Gathering, ALargeBatchLeavesAtOnce) { EXPECT_FALSE(last_goes_along(false, 20)); }

TEST(Gathering, ALargeBatchGathersWhileAnotherProcessWrites) { EXPECT_TRUE(last_goes_along(true, 20)); }

}  // namespace
}  // namespace duramen::test
