// The simulator finds planted bugs: each wrapper breaks one promise, and some seed must find it.
#include "simulation/random_programs.hpp"
#include "simulation/workloads.hpp"
#include <duramen/testing/forwarding_provider.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

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

/// The report of the first seed that finds the bug; empty if none of 2,000 does.
std::string first_finding(std::string_view name, void (*plant_bug)(SimulationOptions&)) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SimulationOptions options = stormy(seed);
    plant_bug(options);
    options.deadline = std::chrono::hours{200};
    const Outcome outcome = simulate(workload(name), options);
    if (!outcome.problem.empty()) return outcome.problem;
  }
  return {};
}

/// The same for random programs, with events and queues.
std::string first_finding_in_programs(void (*plant_bug)(SimulationOptions&)) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SimulationOptions options = stormy(seed);
    plant_bug(options);
    // A wall clock that was wrong by days makes timers of days.
    options.deadline = std::chrono::days{30};
    const std::string problem = simulate_programs(options);
    if (!problem.empty()) return problem;
  }
  return {};
}

/// A store that delivers a result although its row is gone: taken over by another node, or cancelled.
class DeliversWithoutARow final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  Result<std::vector<AckResult>> ack_activities(std::span<const ActivityAck> acks) override {
    auto answer = inner().ack_activities(acks);
    for (std::size_t i = 0; answer && i < acks.size(); ++i) {
      const auto* result = acks[i].completion ? std::get_if<Payload>(&*acks[i].completion) : nullptr;
      if (answer->at(i).outcome == AckOutcome::done || result == nullptr) continue;
      const ActivityKey& key = acks[i].lease.key;
      const OutboundMessage message{acks[i].instance,
                                    message::ActivityCompleted{key.execution, key.activity, *result}};
      std::ignore = inner().enqueue_messages({&message, 1});
    }
    return answer;
  }
};

TEST(PlantedBug, AResultWithoutARowIsFound) {
  const std::string found = first_finding("select", [](SimulationOptions& options) {
    options.wrap_store = plant<DeliversWithoutARow>;
    options.stall_rate = 0.02;
  });
  EXPECT_THAT(found, HasSubstr("was never accepted"));
}

/// A runtime that treats a missing answer as success: a commit that was never stored counts as committed.
class ForgetsAfterALostAnswer final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    auto answer = inner().commit_turns(commits, preempt);
    if (answer) return answer;
    return std::vector<CommitResult>(commits.size(), CommitResult{.incarnation = Incarnation{1}});
  }
};

TEST(PlantedBug, ACommitForgottenAfterALostAnswerIsFound) {
  const std::string found = first_finding(
      "hello", [](SimulationOptions& options) { options.wrap_node = plant<ForgetsAfterALostAnswer>; });
  EXPECT_THAT(found, ContainsRegex("acknowledged, but it does not exist|announced more than once"));
}

/// A store that hands out a leased row again.
class LeasesTwice final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    auto answer = inner().fetch_activities(request);
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
  std::deque<LeasedActivity> given_;
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
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    std::vector<TurnCommit> changed(commits.begin(), commits.end());
    for (TurnCommit& commit : changed) {
      commit.cancelled_activities.clear();
      commit.cancel_rest.reset();
    }
    return inner().commit_turns(changed, preempt);
  }
};

TEST(PlantedBug, RowsLeftByACancelAreFound) {
  const std::string found = first_finding(
      "cancel", [](SimulationOptions& options) { options.wrap_store = plant<KeepsCancelledRows>; });
  EXPECT_THAT(found, HasSubstr("worker rows left behind"));
}

/// A node that never learns of its stolen leases; all its renewals appear to work.
class TellsNobody final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    auto answer = inner().commit_turns(commits, preempt);
    if (answer) {
      for (CommitResult& result : *answer) result.stolen.clear();
    }
    return answer;
  }
  Result<std::vector<RenewResult>> renew_activities(std::span<const ActivityRenewal> leases,
                                                    Duration extend) override {
    auto answer = inner().renew_activities(leases, extend);
    if (answer) std::ranges::fill(*answer, RenewResult{});
    return answer;
  }
};

TEST(PlantedBug, AMissingStopNoticeIsFound) {
  const std::string found =
      first_finding("cancel", [](SimulationOptions& options) { options.wrap_node = plant<TellsNobody>; });
  EXPECT_THAT(found, HasSubstr("was cancelled but not stopped"));
}

/// A store that forgets the holder of a stolen lease: no hint, no list, and a renewal fails as if the lease
/// had just ended.
class ForgetsTombstones final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  Result<std::vector<RenewResult>> renew_activities(std::span<const ActivityRenewal> leases,
                                                    Duration extend) override {
    auto answer = inner().renew_activities(leases, extend);
    for (std::size_t i = 0; answer && i < answer->size(); ++i) {
      RenewResult& result = answer->at(i);
      if (result.outcome == RenewOutcome::cancelled) result = {RenewOutcome::lease_lost, {}};
    }
    return answer;
  }
  Result<std::vector<StolenLease>> read_stolen_leases(const NodeId& /*node*/) override {
    return std::vector<StolenLease>{};
  }
  std::unique_ptr<Subscription> subscribe(NodeId node, ProviderListener& listener) override {
    wrappers_.push_back(std::make_unique<HintDropper>(listener));
    return inner().subscribe(std::move(node), *wrappers_.back());
  }

 private:
  class HintDropper final : public ProviderListener {
   public:
    explicit HintDropper(ProviderListener& target) : target_(target) {}
    void turns_ready() override { target_.turns_ready(); }
    void activities_ready() override { target_.activities_ready(); }
    void leases_stolen(std::span<const StolenLease> /*stolen*/) override {}
    void stolen_leases_pending() override {}
    void instances_changed(std::span<const ChangedInstance> instances) override {
      target_.instances_changed(instances);
    }
    void unknown_instances_changed() override { target_.unknown_instances_changed(); }

   private:
    ProviderListener& target_;
  };
  std::vector<std::unique_ptr<HintDropper>> wrappers_;
};

TEST(PlantedBug, AForgottenTombstoneIsFound) {
  // Two nodes with a place for one activity each: the node that commits the cancel holds only one of them.
  const std::string found = first_finding("cancel", [](SimulationOptions& options) {
    options.wrap_store = plant<ForgetsTombstones>;
    options.nodes = 2;
    options.runtime.max_activities = 1;
    options.crash_rate = options.fault_rate = options.stall_rate = 0;
  });
  EXPECT_THAT(found, HasSubstr("was cancelled but received lease_lost"));
}

/// A store that renews a stolen lease.
class RevivesStolenLeases final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  Result<std::vector<RenewResult>> renew_activities(std::span<const ActivityRenewal> leases,
                                                    Duration extend) override {
    auto answer = inner().renew_activities(leases, extend);
    if (answer) std::ranges::fill(*answer, RenewResult{});
    return answer;
  }
};

TEST(PlantedBug, ARenewalThatRevivesAStolenLeaseIsFound) {
  const std::string found = first_finding_in_programs(
      [](SimulationOptions& options) { options.wrap_store = plant<RevivesStolenLeases>; });
  EXPECT_THAT(found, HasSubstr("was renewed without a lease"));
}

/// A store that accepts the same message twice when the sender lost the first answer.
class IgnoresMessageIds final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  Result<std::vector<EnqueueOutcome>> enqueue_messages(std::span<const OutboundMessage> messages) override {
    std::vector<OutboundMessage> changed(messages.begin(), messages.end());
    for (OutboundMessage& message : changed) message.message_id.reset();
    auto answer = inner().enqueue_messages(changed);
    for (std::size_t i = 0; answer && i < messages.size(); ++i) {
      const auto& id = messages[i].message_id;
      if (id && !seen_.insert(*id).second && answer->at(i) == EnqueueOutcome::enqueued) {
        answer->at(i) = EnqueueOutcome::duplicate;  // reported, but stored again
      }
    }
    return answer;
  }

 private:
  std::set<std::string> seen_;
};

TEST(PlantedBug, AMessageDeliveredTwiceAfterALostAnswerIsFound) {
  const std::string found = first_finding_in_programs(
      [](SimulationOptions& options) { options.wrap_store = plant<IgnoresMessageIds>; });
  EXPECT_THAT(found, ContainsRegex("more often than sent|out of order"));
}

/// A store whose commit deletes every message of the instance, even those that arrived after the fetch.
class LosesWhatCameMeanwhile final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  Result<TurnBatch> fetch_turns(const TurnFetch& request) override {
    auto answer = inner().fetch_turns(request);
    for (std::size_t i = 0; answer && i < answer->items.size(); ++i)
      leased_.insert(answer->items[i].instance);
    return answer;
  }
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    for (const TurnCommit& commit : commits) leased_.erase(commit.instance);
    return inner().commit_turns(commits, preempt);
  }
  Result<std::vector<EnqueueOutcome>> enqueue_messages(std::span<const OutboundMessage> messages) override {
    const bool event =
        messages.size() == 1 && (std::holds_alternative<message::ExternalRaised>(messages[0].body) ||
                                 std::holds_alternative<message::QueueMessage>(messages[0].body));
    if (event && leased_.contains(messages[0].target)) return std::vector{EnqueueOutcome::enqueued};
    return inner().enqueue_messages(messages);
  }

 private:
  std::set<InstanceId> leased_;
};

TEST(PlantedBug, ALostEventIsFound) {
  const std::string found = first_finding_in_programs(
      [](SimulationOptions& options) { options.wrap_store = plant<LosesWhatCameMeanwhile>; });
  EXPECT_THAT(found, ContainsRegex("accepted and are lost|overtook"));
}

/// A store that drops the timers of a turn on its second attempt, as if the crashed attempt had stored them.
class LosesTimers final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  Result<TurnBatch> fetch_turns(const TurnFetch& request) override {
    auto answer = inner().fetch_turns(request);
    for (std::size_t i = 0; answer && i < answer->items.size(); ++i) {
      if (answer->items[i].attempt > 1) again_.insert(answer->items[i].instance);
    }
    return answer;
  }
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    std::vector<TurnCommit> changed(commits.begin(), commits.end());
    for (TurnCommit& commit : changed) {
      if (again_.erase(commit.instance) == 0) continue;
      std::erase_if(commit.messages, [](const OutboundMessage& message) {
        return std::holds_alternative<message::TimerFired>(message.body);
      });
    }
    return inner().commit_turns(changed, preempt);
  }

 private:
  std::set<InstanceId> again_;
};

TEST(PlantedBug, ALostTimerIsFound) {
  const std::string found =
      first_finding_in_programs([](SimulationOptions& options) { options.wrap_store = plant<LosesTimers>; });
  EXPECT_THAT(found, HasSubstr("waits for nothing"));
}

/// A store that hands out the messages of a queue in the wrong order.
class TurnsQueuesAround final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  Result<TurnBatch> fetch_turns(const TurnFetch& request) override {
    auto answer = inner().fetch_turns(request);
    for (std::size_t i = 0; answer && i < answer->items.size(); ++i) {
      std::vector<InboxMessage>& messages = answer->items[i].messages;
      for (std::size_t m = 1; m < messages.size(); ++m) {
        const auto queued = [](const InboxMessage& message) {
          return std::holds_alternative<message::QueueMessage>(message.body);
        };
        if (queued(messages[m - 1]) && queued(messages[m])) std::swap(messages[m - 1], messages[m]);
      }
    }
    return answer;
  }
};

TEST(PlantedBug, AQueueOutOfOrderIsFound) {
  const std::string found = first_finding_in_programs(
      [](SimulationOptions& options) { options.wrap_store = plant<TurnsQueuesAround>; });
  EXPECT_THAT(found, HasSubstr("overtook"));
}

/// A store that orders messages by the wall time at which they were sent.
class OrdersByWallTime final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  Result<std::vector<EnqueueOutcome>> enqueue_messages(std::span<const OutboundMessage> messages) override {
    for (const OutboundMessage& message : messages) {
      if (const auto* queued = std::get_if<message::QueueMessage>(&message.body))
        sent_at_.emplace(std::pair(message.target, queued->data.data), clock().now());
    }
    return inner().enqueue_messages(messages);
  }
  Result<TurnBatch> fetch_turns(const TurnFetch& request) override {
    auto answer = inner().fetch_turns(request);
    for (std::size_t i = 0; answer && i < answer->items.size(); ++i) {
      LeasedInstance& item = answer->items[i];
      std::vector<InboxMessage*> queued;
      for (InboxMessage& message : item.messages) {
        if (std::holds_alternative<message::QueueMessage>(message.body)) queued.push_back(&message);
      }
      const auto time_of = [&](const InboxMessage& message) {
        const auto& body = std::get<message::QueueMessage>(message.body);
        return sent_at_.at({item.instance, body.data.data});
      };
      for (std::size_t a = 0; a < queued.size(); ++a) {
        for (std::size_t b = a + 1; b < queued.size(); ++b) {
          if (time_of(*queued[b]) < time_of(*queued[a])) std::swap(*queued[a], *queued[b]);
        }
      }
    }
    return answer;
  }

 private:
  std::map<std::pair<InstanceId, std::string>, TimePoint> sent_at_;
};

TEST(PlantedBug, AnOrderByTheWallClockIsFound) {
  const std::string found = first_finding_in_programs(
      [](SimulationOptions& options) { options.wrap_store = plant<OrdersByWallTime>; });
  EXPECT_THAT(found, HasSubstr("overtook"));
}

/// A store whose commit deletes everything that is queued, even what the fetch left out.
class DeletesWhatTheFetchLeftOut final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  Result<TurnBatch> fetch_turns(const TurnFetch& request) override {
    TurnFetch all = request;
    all.max_messages = 1000;
    auto answer = inner().fetch_turns(all);
    for (std::size_t i = 0; answer && i < answer->items.size(); ++i) {
      LeasedInstance& item = answer->items[i];
      queued_[item.lease] = HeldLease::all_of(item);
      item.messages.resize(std::min(item.messages.size(), request.max_messages));
    }
    return answer;
  }
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    std::vector<TurnCommit> changed(commits.begin(), commits.end());
    for (TurnCommit& commit : changed) {
      auto* held = std::get_if<HeldLease>(&commit.basis);
      if (held && queued_.contains(held->token)) *held = queued_[held->token];
    }
    return inner().commit_turns(changed, preempt);
  }

 private:
  std::map<LeaseToken, HeldLease> queued_;
};

TEST(PlantedBug, ABacklogThatIsLostIsFound) {
  const std::string found = first_finding_in_programs(
      [](SimulationOptions& options) { options.wrap_store = plant<DeletesWhatTheFetchLeftOut>; });
  EXPECT_THAT(found, ContainsRegex("accepted and are lost|overtook|waits for nothing"));
}

/// A node that treats its own last commit as the current state, even after commits of other nodes.
class TrustsItsMemory final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    auto answer = inner().commit_turns(commits, preempt);
    for (std::size_t i = 0; answer && i < answer->size(); ++i) {
      const TurnCommit& commit = commits[i];
      if (answer->at(i).outcome != CommitOutcome::committed || commit.events.empty()) continue;
      mine_[commit.instance] = {commit.execution, commit.events.back().id, commit.token};
    }
    return answer;
  }
  Result<TurnBatch> fetch_turns(const TurnFetch& request) override {
    auto answer = inner().fetch_turns(request);
    for (std::size_t i = 0; answer && i < answer->items.size(); ++i) {
      LeasedInstance& item = answer->items[i];
      const auto mine = mine_.find(item.instance);
      if (mine == mine_.end() || mine->second.execution != item.execution) continue;
      item.last_event_id = mine->second.last;
      item.replay_token = mine->second.token;
    }
    return answer;
  }

 private:
  struct Mine {
    ExecutionId execution;
    EventId last;
    CommitToken token;
  };
  std::map<InstanceId, Mine> mine_;
};

TEST(PlantedBug, AStaleResidentIsFound) {
  const std::string found = first_finding_in_programs(
      [](SimulationOptions& options) { options.wrap_node = plant<TrustsItsMemory>; });
  EXPECT_THAT(found, HasSubstr("invalid"));
}

}  // namespace
}  // namespace duramen::simulation_test
