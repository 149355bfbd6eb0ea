// Every allocation of a call may fail: the call then returns an error, and the store stays usable.
#include "fixture.hpp"
#include "support/failing_memory.hpp"

#include <optional>

namespace duramen::sqlite::test {
namespace {

using duramen::test::FailingMemory;

/// Allocates memory, as a listener that posts does.
class AllocatingListener final : public ProviderListener {
 public:
  void turns_ready() override { received_.push_back(std::make_unique<int>(1)); }
  void activities_ready() override {}
  void leases_stolen(std::span<const StolenLease>) override {}
  void stolen_leases_pending() override {}
  void instances_changed(std::span<const ChangedInstance>) override {}
  void unknown_instances_changed() override {}

 private:
  std::vector<std::unique_ptr<int>> received_;
};

class OutOfMemory : public ::testing::Test {
 protected:
  /// Repeats the call, each time with another failing allocation, until none fails. `stored` counts the rows
  /// of the store, `expected` the rows that a successful call adds.
  template <class Prepare, class Call, class Stored>
  void fail_at_each_allocation(Prepare prepare, Call call, Stored stored, std::uint64_t expected) {
    for (const bool all_after : {false, true}) {
      int failures = 0;
      for (std::int64_t first = 0;; ++first) {
        prepare();
        const std::uint64_t before = stored();
        std::optional<std::decay_t<decltype(call())>> result;
        bool has_failed = false;
        {
          const FailingMemory failing(first, all_after);
          result.emplace(call());
          has_failed = FailingMemory::has_failed();
        }
        const std::uint64_t added = stored() - before;
        if (*result) {
          ASSERT_EQ(added, expected) << "allocation " << first;
        } else {
          ++failures;
          ASSERT_EQ(result->error().code, ErrorCode::unavailable) << result->error().describe();
          ASSERT_TRUE(result->error().retryable);
          ASSERT_EQ(added, 0u) << "allocation " << first;
        }
        if (!has_failed) {
          ASSERT_TRUE(*result);
          break;
        }
      }
      EXPECT_GT(failures, 0);
    }
  }

  TempDir dir;
  std::shared_ptr<Provider> store = open_at(dir.file("t.db"));
};

TEST_F(OutOfMemory, ACallThatFailsHasStoredNothingAndTheNextOneWorks) {
  AllocatingListener listener;
  const auto subscription = store->subscribe({}, listener);
  const StartRequest start{.instance = "a", .start = {.orchestration = "Orch"}};
  ASSERT_EQ(store->start_instances({&start, 1}).value().at(0), StartOutcome::created);
  const std::vector<OutboundMessage> messages{
      {.target = "a", .body = message::ExternalRaised{"the first of two events", Payload::text("x")}},
      {.target = "a", .body = message::ExternalRaised{"the second of two events", Payload::text("y")}}};
  fail_at_each_allocation([] {}, [&] { return store->enqueue_messages(messages); },
                          [&] { return store->get_queue_depths().value().orchestrator_due; }, 2);
}

TEST_F(OutOfMemory, ABatchWithATurnThatCannotBeStoredIsStoredWholeOrNotAtAll) {
  int round = 0;
  std::vector<TurnCommit> batch;
  fail_at_each_allocation(
      [&] {
        const std::string number = std::to_string(++round);
        batch = {first_turn("a" + number, 1), first_turn("b" + number, 2)};
        batch[1].new_activities.push_back(batch[1].new_activities[0]);  // the same row twice
      },
      [&] { return store->commit_turns(batch); },
      [&] { return store->get_metrics().value().total_instances(); }, 1);
}

}  // namespace
}  // namespace duramen::sqlite::test
