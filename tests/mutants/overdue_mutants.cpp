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

class ARenewalRestartsTheAttempt final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<RenewResult>> renew_activities(std::span<const ActivityRenewal> leases,
                                                    Duration extend) override {
    tables([&](MemoryTables& t) {
      for (auto& [key, row] : t.work) row.started_at = lease_now();
    });
    return ForwardingProvider::renew_activities(leases, extend);
  }
};

class AttemptsShareTheirTime final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    std::map<ActivityKey, LeaseTime> before;
    tables([&](MemoryTables& t) {
      for (const auto& [key, row] : t.work) {
        if (row.attempts > 0) before[key] = row.started_at;
      }
    });
    auto batch = ForwardingProvider::fetch_activities(request);
    tables([&](MemoryTables& t) {
      for (const auto& [key, started_at] : before) t.work.at(key).started_at = started_at;
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
        QueuePosition later = instance.inbox.rbegin()->first;
        later.arrival += 1'000'000;
        instance.inbox.emplace(later, instance.inbox.rbegin()->second);
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

class ATimedOutHolderIsNotTold final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<SweepResult> sweep(std::size_t limit) override {
    auto result = ForwardingProvider::sweep(limit);
    tables([](MemoryTables& t) { t.tombstones.clear(); });
    return result;
  }
};

class WaitingIsLimitedForEver final : public WrongProvider {
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

class WhatBecomesOverdueIsNotTold final : public WrongProvider {
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
    {"a_sweep_forgets_heartbeats", "Silence is never noticed.", "heartbeat_fails_what_gives_no_sign_of_life",
     make_mutant<ASweepForgetsHeartbeats>},
    {"a_renewal_is_a_sign_of_life", "The node speaks for an activity that hangs.",
     "heartbeat_fails_what_gives_no_sign_of_life", make_mutant<ARenewalIsASignOfLife>},
    {"a_renewal_restarts_the_attempt", "An activity that is renewed may run for ever.",
     "start_to_close_fails_what_runs_too_long", make_mutant<ARenewalRestartsTheAttempt>},
    {"attempts_share_their_time", "The time of an attempt counts from the first one.",
     "start_to_close_counts_from_the_current_attempt", make_mutant<AttemptsShareTheirTime>},
    {"a_timeout_is_delivered_twice", "The instance gets the failure two times.", "a_timeout_is_told_once",
     make_mutant<ATimeoutIsDeliveredTwice>},
    {"a_timeout_is_not_delivered", "The row goes and nobody hears of it.",
     "schedule_to_start_fails_what_nobody_takes", make_mutant<ATimeoutIsNotDelivered>},
    {"a_timed_out_holder_is_not_told",
     "The holder of an overdue activity learns only that its lease is lost.",
     "a_sweep_robs_whoever_holds_the_lease", make_mutant<ATimedOutHolderIsNotTold>},
    {"waiting_is_limited_for_ever", "What was taken once and given back fails for waiting.",
     "schedule_to_start_ends_with_the_first_attempt", make_mutant<WaitingIsLimitedForEver>},
    {"a_free_activity_fails_for_running", "An activity whose lease ended fails instead of being tried again.",
     "a_lease_that_ends_first_frees_the_activity", make_mutant<AFreeActivityFailsForRunning>},
    {"a_sweep_ignores_its_limit", "A sweep does everything at once.", "a_sweep_does_no_more_than_it_was_told",
     make_mutant<ASweepIgnoresItsLimit>},
    {"what_becomes_overdue_is_not_told", "Nobody knows when to sweep.",
     "schedule_to_start_fails_what_nobody_takes", make_mutant<WhatBecomesOverdueIsNotTold>},
    {"heartbeat_details_are_lost", "The next attempt begins from nothing.",
     "heartbeat_details_reach_the_next_attempt", make_mutant<HeartbeatDetailsAreLost>},
    {"absent_details_erase", "A heartbeat without details forgets those before.",
     "a_heartbeat_without_details_keeps_those_before", make_mutant<AbsentDetailsErase>},
};

}  // namespace

std::span<const Mutant> overdue_mutants() { return mutants; }

}  // namespace duramen::testing
