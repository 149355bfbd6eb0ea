// Wrong about activities: their leases, their order, their attempts.
#include "mutants/mutant.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace duramen::testing {
namespace {

class AckOfAGoneRowIsDelivered final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<AckResult>> ack_activities(std::span<const ActivityAck> acks) override {
    auto results = ForwardingProvider::ack_activities(acks);
    for (std::size_t i = 0; i < acks.size(); ++i) {
      if ((*results)[i].outcome == AckOutcome::done || !acks[i].completion) continue;
      const ActivityKey& key = acks[i].lease.key;
      const OutboundMessage message{acks[i].instance,
                                    message::ActivityCompleted{key.execution, key.activity, {}}};
      (void)inner().enqueue_messages({&message, 1});
    }
    return results;
  }
};

class AckIgnoresTheEndOfTheLease final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<AckResult>> ack_activities(std::span<const ActivityAck> acks) override {
    tables([&](MemoryTables& t) {
      for (auto& [key, row] : t.work) row.lease_until = std::max(row.lease_until, far_away());
    });
    return ForwardingProvider::ack_activities(acks);
  }
};

class AckIgnoresTheToken final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<AckResult>> ack_activities(std::span<const ActivityAck> acks) override {
    auto changed = copy_of(acks);
    tables([&](MemoryTables& t) {
      for (ActivityAck& ack : changed) {
        if (const auto row = t.work.find(ack.lease.key); row != t.work.end())
          ack.lease.token = row->second.lease;
      }
    });
    return ForwardingProvider::ack_activities(changed);
  }
};

class OneLostAckStopsTheBatch final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<AckResult>> ack_activities(std::span<const ActivityAck> acks) override {
    std::vector<AckResult> results(acks.size(), AckResult{AckOutcome::lease_lost, {}});
    for (std::size_t i = 0; i < acks.size(); ++i) {
      results[i] = ForwardingProvider::ack_activities(acks.subspan(i, 1)).value()[0];
      if (results[i].outcome != AckOutcome::done) break;
    }
    return results;
  }
};

class RenewalRevives final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<RenewResult>> renew_activities(std::span<const ActivityRenewal> leases,
                                                    Duration extend) override {
    tables([&](MemoryTables& t) {
      for (auto& [key, row] : t.work) row.lease_until = std::max(row.lease_until, lease_now() + Duration{1});
    });
    return ForwardingProvider::renew_activities(leases, extend);
  }
};

class RenewalExtendsNothing final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<RenewResult>> renew_activities(std::span<const ActivityRenewal> leases,
                                                    Duration extend) override {
    std::map<ActivityKey, LeaseTime> before;
    tables([&](MemoryTables& t) {
      for (auto& [key, row] : t.work) before[key] = row.lease_until;
    });
    auto results = ForwardingProvider::renew_activities(leases, extend);
    tables([&](MemoryTables& t) {
      for (auto& [key, row] : t.work) row.lease_until = before[key];
    });
    return results;
  }
};

class AttemptsOfActivitiesAreForgotten final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    tables([](MemoryTables& t) {
      for (auto& [key, row] : t.work) row.attempts = 0;
    });
    return ForwardingProvider::fetch_activities(request);
  }
};

class SecondAttemptsComeWithOthers final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    std::map<ActivityKey, std::uint32_t> before;
    tables([&](MemoryTables& t) {
      for (auto& [key, row] : t.work) before[key] = std::exchange(row.attempts, 0);
    });
    auto batch = ForwardingProvider::fetch_activities(request);
    tables([&](MemoryTables& t) {
      for (auto& [key, row] : t.work) row.attempts += before[key];
    });
    for (auto& item : batch->items) item.attempt += before[item.lease.key];
    return batch;
  }
};

class NewestActivityFirst final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    tables([&](MemoryTables& t) {
      for (auto& [key, row] : t.work)
        row.position.arrival = std::numeric_limits<std::uint64_t>::max() - key.activity.value;
    });
    return ForwardingProvider::fetch_activities(request);
  }
};

class ABornLeasedRowIsFetched final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    auto results = ForwardingProvider::commit_turns(commits, preempt);
    tables([&](MemoryTables& t) {
      for (const TurnCommit& commit : commits) {
        for (const NewActivity& item : commit.new_activities) {
          const auto row = t.work.find(item.request.key);
          if (item.born_leased && row != t.work.end()) row->second.lease_until = {};
        }
      }
    });
    return results;
  }
};

class BeingBornLeasedDoesNotCount final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    auto results = ForwardingProvider::commit_turns(commits, preempt);
    tables([&](MemoryTables& t) {
      for (const TurnCommit& commit : commits) {
        for (const NewActivity& item : commit.new_activities) {
          const auto row = t.work.find(item.request.key);
          if (item.born_leased && row != t.work.end()) row->second.attempts = 0;
        }
      }
    });
    return results;
  }
};

class ReleasedWithoutDelay final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<void> release_activities(std::span<const ActivityRelease> items) override {
    auto changed = copy_of(items);
    for (ActivityRelease& item : changed) item.delay = {};
    return ForwardingProvider::release_activities(changed);
  }
};

class EveryDeliveryCounts final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<void> release_activities(std::span<const ActivityRelease> items) override {
    auto changed = copy_of(items);
    for (ActivityRelease& item : changed) item.count_attempt = true;
    return ForwardingProvider::release_activities(changed);
  }
};

class TheFenceHasNoBase final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    auto batch = ForwardingProvider::fetch_activities(request);
    for (auto& item : batch->items) item.fence &= 0xffffffffu;
    return batch;
  }
};

class TheFenceIsTheAttempt final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    auto batch = ForwardingProvider::fetch_activities(request);
    for (auto& item : batch->items) item.fence = item.attempt;
    return batch;
  }
};

class TheIncarnationOfAnActivityIsIgnored final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<AckResult>> ack_activities(std::span<const ActivityAck> acks) override {
    auto changed = copy_of(acks);
    tables([&](MemoryTables& t) {
      for (ActivityAck& ack : changed) {
        const auto name = t.names.find(ack.instance);
        if (name == t.names.end()) continue;
        ack.lease.key.incarnation = name->second;
        const auto row = t.work.find(ack.lease.key);
        if (row == t.work.end()) continue;
        row->second.lease = ack.lease.token;
        row->second.lease_until = far_away();
      }
    });
    return ForwardingProvider::ack_activities(changed);
  }
};

constexpr Mutant mutants[] = {
    {"ack_of_a_gone_row_is_delivered", "An ack under a lost lease still reaches the instance.",
     "test_ack_work_item_fails_on_cancelled_row", make_mutant<AckOfAGoneRowIsDelivered>},
    {"ack_ignores_the_end_of_the_lease", "The last holder can ack a row after its lease has expired.",
     "an_ack_under_an_expired_lease_fails", make_mutant<AckIgnoresTheEndOfTheLease>},
    {"ack_ignores_the_token", "Any token ends a row.", "acks_in_one_batch_are_independent",
     make_mutant<AckIgnoresTheToken>},
    {"one_lost_ack_stops_the_batch", "Entries after a failed one are skipped.",
     "acks_in_one_batch_are_independent", make_mutant<OneLostAckStopsTheBatch>},
    {"renewal_revives", "An expired lease can be renewed until another worker fetches the row.",
     "a_renewal_never_revives_an_activity_lease", make_mutant<RenewalRevives>},
    {"renewal_extends_nothing", "A renewal answers `renewed` and extends nothing.",
     "an_activity_lease_lasts_as_long_as_it_is_renewed", make_mutant<RenewalExtendsNothing>},
    {"attempts_of_activities_are_forgotten", "Every delivery is the first.",
     "expiry_and_release_of_an_activity_count_as_attempts", make_mutant<AttemptsOfActivitiesAreForgotten>},
    {"second_attempts_come_with_others", "An activity that may have crashed a worker is fetched with others.",
     "a_second_attempt_of_an_activity_is_fetched_alone", make_mutant<SecondAttemptsComeWithOthers>},
    {"newest_activity_first", "The worker queue is a stack.",
     "activities_are_fetched_in_the_order_they_were_scheduled", make_mutant<NewestActivityFirst>},
    {"a_born_leased_row_is_fetched", "A fetch ignores that a row was born leased.",
     "an_activity_born_leased_belongs_to_the_committing_node", make_mutant<ABornLeasedRowIsFetched>},
    {"being_born_leased_does_not_count", "Being born leased is not an attempt.",
     "being_born_leased_is_the_first_attempt", make_mutant<BeingBornLeasedDoesNotCount>},
    {"released_without_delay", "The delay of a release is ignored.",
     "an_activity_released_with_a_delay_is_fetched_after_it", make_mutant<ReleasedWithoutDelay>},
    {"every_delivery_counts", "An attempt counts even if the release excludes it.",
     "a_released_activity_may_leave_the_attempt_uncounted", make_mutant<EveryDeliveryCounts>},
    {"the_fence_has_no_base", "The fences of a later activity are not above those of an earlier one.",
     "the_fences_of_an_activity_are_above_its_base", make_mutant<TheFenceHasNoBase>},
    {"the_fence_is_the_attempt", "A lease whose attempt did not count has the fence of the next.",
     "every_activity_lease_has_a_higher_fence", make_mutant<TheFenceIsTheAttempt>},
    {"the_incarnation_of_an_activity_is_ignored", "A late ack is matched by instance id and number.",
     "an_old_ack_does_not_affect_a_new_activity_of_the_same_number",
     make_mutant<TheIncarnationOfAnActivityIsIgnored>},
};

}  // namespace

std::span<const Mutant> activity_mutants() { return mutants; }

}  // namespace duramen::testing
