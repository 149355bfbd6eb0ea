// Does the simulator find what is broken? Each wrapper breaks one promise; some seed must notice.
#include "simulation/workloads.hpp"

#include <duramen/testing/forwarding_provider.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

namespace duramen::simulation_test {

namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::SimulationOptions;

/// A planted bug overrides one method.
using PassThrough = testing::ForwardingProvider;

template <class Bug>
std::shared_ptr<Provider> plant(std::shared_ptr<Provider> inner) {
  return std::make_shared<Bug>(std::move(inner));
}

/// What the first seed to notice says, or nothing if none of 300 does.
std::string first_finding(std::string_view name, void (*plant_bug)(SimulationOptions&)) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SimulationOptions options = stormy(seed);
    plant_bug(options);
    options.deadline = std::chrono::hours{200};
    const Outcome outcome = simulate(workload(name), options);
    if (!outcome.problem.empty()) return outcome.problem;
  }
  return {};
}

/// A store that delivers a result although its row is gone: taken over by another node, or cancelled.
class DeliversWithoutARow final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  Result<std::vector<AckResult>> ack_work_items(std::span<const WorkAck> acks) override {
    auto answer = inner().ack_work_items(acks);
    for (std::size_t i = 0; answer && i < acks.size(); ++i) {
      const auto* result = acks[i].completion ? std::get_if<Payload>(&*acks[i].completion) : nullptr;
      if (answer->at(i).outcome == AckOutcome::done || result == nullptr) continue;
      const ActivityKey& key = acks[i].lease.key;
      const OutboundMessage message{acks[i].instance,
                                    work::ActivityCompleted{key.execution, key.activity, *result}};
      std::ignore = inner().enqueue_for_orchestrator({&message, 1});
    }
    return answer;
  }
};

TEST(PlantedBug, AResultWithoutARowIsFound) {
  const std::string found = first_finding("select", [](SimulationOptions& options) {
    options.wrap_store = plant<DeliversWithoutARow>;
    options.stall_rate = 0.02;
  });
  EXPECT_THAT(found, HasSubstr("not accepted from anybody"));
}

/// A runtime that takes no answer for a yes: what it never stored counts as committed.
class ForgetsAfterALostAnswer final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  Result<std::vector<CommitResult>> ack_orchestration_items(std::span<const TurnCommit> commits) override {
    auto answer = inner().ack_orchestration_items(commits);
    if (answer) return answer;
    return std::vector<CommitResult>(commits.size(), CommitResult{.incarnation = Incarnation{1}});
  }
};

TEST(PlantedBug, ACommitForgottenAfterALostAnswerIsFound) {
  const std::string found = first_finding(
      "hello", [](SimulationOptions& options) { options.wrap_node = plant<ForgetsAfterALostAnswer>; });
  EXPECT_THAT(found, ContainsRegex("acknowledged, but it does not exist|announced more than once"));
}

/// A store that hands out a row again while somebody holds it.
class LeasesTwice final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  Result<WorkBatch> fetch_work_items(const WorkFetch& request) override {
    auto answer = inner().fetch_work_items(request);
    if (!answer) return answer;
    if (answer->items.empty() && !given_.empty()) {
      answer->items.push_back(given_.front());
      given_.pop_front();
    } else {
      given_.insert(given_.end(), answer->items.begin(), answer->items.end());
    }
    return answer;
  }

 private:
  std::deque<WorkItemLeased> given_;
};

TEST(PlantedBug, ALeaseHeldTwiceIsFound) {
  const std::string found =
      first_finding("chain", [](SimulationOptions& options) { options.wrap_store = plant<LeasesTwice>; });
  EXPECT_THAT(found, HasSubstr("holds it"));
}

/// A store that keeps the rows of cancelled activities.
class KeepsCancelledRows final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  Result<std::vector<CommitResult>> ack_orchestration_items(std::span<const TurnCommit> commits) override {
    std::vector<TurnCommit> changed(commits.begin(), commits.end());
    for (TurnCommit& commit : changed) {
      commit.cancelled_activities.clear();
      commit.cancel_rest.reset();
    }
    return inner().ack_orchestration_items(changed);
  }
};

TEST(PlantedBug, RowsLeftByACancelAreFound) {
  const std::string found = first_finding(
      "cancel", [](SimulationOptions& options) { options.wrap_store = plant<KeepsCancelledRows>; });
  EXPECT_THAT(found, HasSubstr("worker rows left behind"));
}

/// A node that never hears that its leases were stolen, and whose renewals always seem to work.
class TellsNobody final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  Result<std::vector<CommitResult>> ack_orchestration_items(std::span<const TurnCommit> commits) override {
    auto answer = inner().ack_orchestration_items(commits);
    if (answer) {
      for (CommitResult& result : *answer) result.stolen.clear();
    }
    return answer;
  }
  Result<std::vector<RenewResult>> renew_work_item_locks(std::span<const WorkRenewal> leases,
                                                         Duration extend) override {
    auto answer = inner().renew_work_item_locks(leases, extend);
    if (answer) std::ranges::fill(*answer, RenewResult{});
    return answer;
  }
};

TEST(PlantedBug, AnActivityThatIsNotToldIsFound) {
  const std::string found =
      first_finding("cancel", [](SimulationOptions& options) { options.wrap_node = plant<TellsNobody>; });
  EXPECT_THAT(found, HasSubstr("is not told"));
}

}  // namespace
}  // namespace duramen::simulation_test
