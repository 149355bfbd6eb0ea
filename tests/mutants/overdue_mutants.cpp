// Wrong about time limits and heartbeats.
#include "mutants/mutant.hpp"

#include <map>

namespace duramen::testing {
namespace {

class ASweepForgetsHeartbeats final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<SweepResult> sweep(std::size_t limit) override {
    tables([&](MemoryTables& t) {
      for (auto& [key, row] : t.work) row.alive_at = lease_now();
    });
    return ForwardingProvider::sweep(limit);
  }
};

class ARenewalIsASignOfLife final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<RenewResult>> renew_activities(std::span<const ActivityRenewal> leases,
                                                    Duration extend) override {
    auto changed = copy_of(leases);
    for (ActivityRenewal& renewal : changed) {
      if (!renewal.heartbeat) renewal.heartbeat = Heartbeat{};
    }
    return ForwardingProvider::renew_activities(changed, extend);
  }
};

class ASilentAttemptFailsWithoutARenewal final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<SweepResult> sweep(std::size_t limit) override {
    tables([&](MemoryTables& t) {
      for (auto& [key, row] : t.work) row.renewed_at = lease_now();
    });
    return ForwardingProvider::sweep(limit);
  }
};

class DetailsOfAnEarlierAttemptAreLost final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    auto changed = copy_of(commits);
    for (TurnCommit& commit : changed) {
      for (NewActivity& activity : commit.new_activities) activity.request.heartbeat.reset();
    }
    return ForwardingProvider::commit_turns(changed, preempt);
  }
};

class ARenewalRestartsTheAttempt final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<RenewResult>> renew_activities(std::span<const ActivityRenewal> leases,
                                                    Duration extend) override {
    tables([&](MemoryTables& t) {
      for (auto& [key, row] : t.work) row.limits_from = lease_now();
    });
    return ForwardingProvider::renew_activities(leases, extend);
  }
};

class AttemptsShareTheirTime final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<RenewResult>> renew_activities(std::span<const ActivityRenewal> leases,
                                                    Duration extend) override {
    auto results = ForwardingProvider::renew_activities(leases, extend);
    tables([&](MemoryTables& t) {
      for (auto& [key, row] : t.work) {
        const LeaseTime first = first_.try_emplace(key, row.limits_from).first->second;
        row.limits_from = first;
      }
    });
    return results;
  }

 private:
  std::map<ActivityKey, LeaseTime> first_;
};

class WaitingIsLimited final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<RenewResult>> renew_activities(std::span<const ActivityRenewal> leases,
                                                    Duration extend) override {
    auto changed = copy_of(leases);
    for (ActivityRenewal& renewal : changed) {
      if (renewal.progress == ActivityProgress::waits) renewal.progress = ActivityProgress::runs;
    }
    return ForwardingProvider::renew_activities(changed, extend);
  }
};

class LimitsCountFromTheFetch final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    auto batch = ForwardingProvider::fetch_activities(request);
    tables([&](MemoryTables& t) {
      for (const LeasedActivity& item : batch->items) t.work.at(item.lease.key).limits_from = lease_now();
    });
    return batch;
  }
};

class ATimeoutIsDeliveredTwice final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<SweepResult> sweep(std::size_t limit) override {
    auto result = ForwardingProvider::sweep(limit);
    if (result->overdue == 0) return result;
    tables([](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) {
        if (instance.inbox.empty()) continue;
        instance.inbox.emplace(instance.inbox.rbegin()->first + 1'000'000, instance.inbox.rbegin()->second);
      }
    });
    return result;
  }
};

class ATimeoutIsNotDelivered final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<SweepResult> sweep(std::size_t limit) override {
    auto result = ForwardingProvider::sweep(limit);
    tables([](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) {
        std::erase_if(instance.inbox, [](const auto& entry) {
          return std::holds_alternative<message::ActivityFailed>(entry.second.body);
        });
      }
    });
    return result;
  }
};

class ATimedOutHolderGetsNoReason final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<SweepResult> sweep(std::size_t limit) override {
    auto result = ForwardingProvider::sweep(limit);
    tables([](MemoryTables& t) { t.tombstones.clear(); });
    return result;
  }
};

class WaitingIsLimitedAfterTheFirstAttempt final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<SweepResult> sweep(std::size_t limit) override {
    tables([](MemoryTables& t) {
      for (auto& [key, row] : t.work) {
        if (!row.lease) row.attempts = 0;
      }
    });
    return ForwardingProvider::sweep(limit);
  }
};

class AFreeActivityFailsForRunning final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<SweepResult> sweep(std::size_t limit) override {
    tables([&](MemoryTables& t) {
      for (auto& [key, row] : t.work) {
        if (row.lease) row.lease_until = far_away();
      }
    });
    return ForwardingProvider::sweep(limit);
  }
};

class ASweepIgnoresItsLimit final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<SweepResult> sweep(std::size_t) override { return ForwardingProvider::sweep(1'000'000); }
};

class ASweepHasNoNextDue final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<SweepResult> sweep(std::size_t limit) override {
    auto result = ForwardingProvider::sweep(limit);
    result->next_due.reset();
    return result;
  }
};

class HeartbeatDetailsAreLost final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    auto batch = ForwardingProvider::fetch_activities(request);
    for (auto& item : batch->items) item.heartbeat.reset();
    return batch;
  }
};

class DetailsOfAFailureAreIgnored final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<AckResult>> ack_activities(std::span<const ActivityAck> acks) override {
    auto changed = copy_of(acks);
    for (ActivityAck& ack : changed) ack.heartbeat.reset();
    return ForwardingProvider::ack_activities(changed);
  }
};

class AbsentDetailsErase final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<RenewResult>> renew_activities(std::span<const ActivityRenewal> leases,
                                                    Duration extend) override {
    tables([&](MemoryTables& t) {
      for (const ActivityRenewal& renewal : leases) {
        const auto row = t.work.find(renewal.lease.key);
        if (renewal.heartbeat && row != t.work.end()) row->second.heartbeat.reset();
      }
    });
    return ForwardingProvider::renew_activities(leases, extend);
  }
};

constexpr Mutant mutants[] = {
    {"details_of_a_failure_are_ignored", "A failure carries the details of the row, not its own.",
     "details_that_come_with_a_failure_replace_those_of_the_row", make_mutant<DetailsOfAFailureAreIgnored>},
    {"a_sweep_forgets_heartbeats", "A missing heartbeat is ignored.",
     "the_heartbeat_limit_fails_an_attempt_that_is_only_renewed", make_mutant<ASweepForgetsHeartbeats>},
    {"a_renewal_is_a_sign_of_life", "A renewal by the node counts as a heartbeat.",
     "the_heartbeat_limit_fails_an_attempt_that_is_only_renewed", make_mutant<ARenewalIsASignOfLife>},
    {"a_silent_attempt_fails_without_a_renewal",
     "A missing heartbeat fails an attempt whose holder may be gone.",
     "a_silent_attempt_that_is_not_renewed_is_handed_out_again",
     make_mutant<ASilentAttemptFailsWithoutARenewal>},
    {"details_of_an_earlier_attempt_are_lost", "A retry begins without the details of the attempt before it.",
     "the_details_of_an_earlier_attempt_come_with_the_request",
     make_mutant<DetailsOfAnEarlierAttemptAreLost>},
    {"a_renewal_restarts_the_attempt", "A renewed activity never reaches its time limit.",
     "start_to_close_fails_a_renewed_attempt_that_runs_too_long", make_mutant<ARenewalRestartsTheAttempt>},
    {"attempts_share_their_time", "The time of an attempt counts from the first one.",
     "start_to_close_counts_from_the_current_attempt", make_mutant<AttemptsShareTheirTime>},
    {"waiting_is_limited", "An activity that waits for a thread reaches its time limits.",
     "the_limits_of_an_activity_that_waits_do_not_pass", make_mutant<WaitingIsLimited>},
    {"limits_count_from_the_fetch", "The limits of an activity count before it begins.",
     "the_limits_of_an_activity_that_reports_nothing_count_from_the_end_of_its_lease",
     make_mutant<LimitsCountFromTheFetch>},
    {"a_timeout_is_delivered_twice", "The instance receives the failure twice.",
     "an_instance_receives_one_failure_per_timeout", make_mutant<ATimeoutIsDeliveredTwice>},
    {"a_timeout_is_not_delivered", "The row is deleted and the instance receives no failure.",
     "schedule_to_start_fails_an_activity_that_no_worker_fetches", make_mutant<ATimeoutIsNotDelivered>},
    {"a_timed_out_holder_gets_no_reason", "The holder of an overdue activity receives only `lease_lost`.",
     "a_sweep_records_the_stolen_lease_for_its_owner", make_mutant<ATimedOutHolderGetsNoReason>},
    {"waiting_is_limited_after_the_first_attempt", "A released activity fails with schedule_to_start.",
     "schedule_to_start_ends_with_the_first_attempt", make_mutant<WaitingIsLimitedAfterTheFirstAttempt>},
    {"a_free_activity_fails_for_running",
     "An activity whose lease ended fails instead of getting another attempt.",
     "an_activity_whose_lease_ends_first_gets_another_attempt", make_mutant<AFreeActivityFailsForRunning>},
    {"a_sweep_ignores_its_limit", "A sweep processes every overdue activity.",
     "a_sweep_processes_at_most_its_limit", make_mutant<ASweepIgnoresItsLimit>},
    {"a_sweep_has_no_next_due", "A sweep does not return when to sweep again.",
     "schedule_to_start_fails_an_activity_that_no_worker_fetches", make_mutant<ASweepHasNoNextDue>},
    {"heartbeat_details_are_lost", "The next attempt receives no details.",
     "heartbeat_details_reach_the_next_attempt", make_mutant<HeartbeatDetailsAreLost>},
    {"absent_details_erase", "A heartbeat without details deletes the last details.",
     "a_heartbeat_without_details_keeps_the_last_details", make_mutant<AbsentDetailsErase>},
};

}  // namespace

std::span<const Mutant> overdue_mutants() { return mutants; }

}  // namespace duramen::testing
