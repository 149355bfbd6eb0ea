// Any allocation of a call may fail: the call then returns an error, and the next call finds a usable
// connection.
#include "store.hpp"
#include "support/failing_memory.hpp"

#include <atomic>
#include <new>
#include <optional>

namespace duramen::test {
namespace {

class PostgresOutOfMemory : public OnPostgres {};

TEST_F(PostgresOutOfMemory, ACallThatFailsLeavesNothingOpenForTheNextOne) {
  postgres::Options options = schema->options();
  options.max_connections = 1;  // the next call uses the same one
  const auto store = open(options);
  // Too long for an index, and incompressible.
  std::string noise;
  std::uint64_t seed = 1;
  while (noise.size() < 20'000)
    noise += std::to_string(seed = seed * 6364136223846793005ull + 1442695040888963407ull);

  int failures = 0;
  constexpr std::int64_t step = 89;  // each failure costs a connection
  for (std::int64_t first = 0;; first += step) {
    const std::string number = std::to_string(first);
    // One of the two turns cannot be stored: the batch becomes a transaction of many statements.
    const TurnCommit commits[] = {fused_turn("good " + number, 1), fused_turn(noise, 2)};
    std::optional<Result<std::vector<CommitResult>>> result;
    bool has_failed = false;
    {
      const FailingMemory failing(first);
      result.emplace(store->commit_turns(commits));
      has_failed = FailingMemory::has_failed();
    }
    if (!*result) {
      ++failures;
      EXPECT_EQ(result->error().code, ErrorCode::unavailable) << result->error().describe();
      EXPECT_TRUE(result->error().retryable);
    }
    // Everything stored now is visible to all.
    start(*store, "after " + number);
    ASSERT_EQ(schema->number("SELECT count(*) FROM " + quoted_schema() +
                             ".instances WHERE instance_id = 'after " + number + "'"),
              1)
        << "allocation " << first;
    if (!has_failed) break;
  }
  EXPECT_GT(failures, 5);
}

class ListenerWithoutMemory final : public ProviderListener {
 public:
  void turns_ready() override {
    ++calls_;
    throw std::bad_alloc();
  }
  void activities_ready() override {}
  void leases_stolen(std::span<const StolenLease>) override {}
  void stolen_leases_pending() override {}
  void instances_changed(std::span<const ChangedInstance>) override {}
  void unknown_instances_changed() override {}
  [[nodiscard]] int calls() const { return calls_; }

 private:
  std::atomic<int> calls_ = 0;
};

TEST_F(PostgresOutOfMemory, ACallWhoseHintFindsNoMemoryHasSucceeded) {
  const auto store = open();
  ListenerWithoutMemory listener;
  const auto subscription = store->subscribe("node", listener);
  const StartRequest request = start_of("a");
  const auto started = store->start_instances({&request, 1});
  ASSERT_TRUE(started) << started.error().describe();
  EXPECT_EQ(started->at(0), StartOutcome::created);
  EXPECT_GT(listener.calls(), 0);
}

}  // namespace
}  // namespace duramen::test
