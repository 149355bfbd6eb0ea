// Wrong about cancellation: what goes, who is told, and why.
#include "mutants/mutant.hpp"

#include <set>

namespace duramen::testing {
namespace {

using Commits = std::span<const TurnCommit>;
using Results = Result<std::vector<CommitResult>>;

class CancelledBeforeTheNewRowsAreIn final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto changed = copy_of(commits);
    for (TurnCommit& commit : changed) {
      std::set<EventId> inserted;
      for (const auto& item : commit.new_activities) inserted.insert(item.request.key.activity);
      std::erase_if(commit.cancelled_activities,
                    [&](const auto& c) { return inserted.contains(c.activity); });
    }
    return ForwardingProvider::commit_turns(changed, preempt);
  }
};

class NoTombstones final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto results = ForwardingProvider::commit_turns(commits, preempt);
    tables([](MemoryTables& t) { t.tombstones.clear(); });
    return results;
  }
};

class TombstonesAreRemovedWhenRead final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<StolenLease>> read_stolen_leases(const NodeId& node) override {
    auto stolen = ForwardingProvider::read_stolen_leases(node);
    tables([&](MemoryTables& t) {
      std::erase_if(t.tombstones, [&](const auto& entry) { return entry.second.lease.owner == node; });
    });
    return stolen;
  }
};

class HeldActivitiesAreNotCancelled final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto changed = copy_of(commits);
    tables([&](MemoryTables& t) {
      for (TurnCommit& commit : changed) {
        std::erase_if(commit.cancelled_activities, [&](const auto& c) {
          const auto row = t.work.find({commit.incarnation, commit.execution, c.activity});
          return row != t.work.end() && row->second.lease;
        });
      }
    });
    return ForwardingProvider::commit_turns(changed, preempt);
  }
};

class CancellationIgnoresTheExecution final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto results = ForwardingProvider::commit_turns(commits, preempt);
    tables([&](MemoryTables& t) {
      for (const TurnCommit& commit : commits) {
        for (const auto& cancelled : commit.cancelled_activities) {
          std::erase_if(t.work, [&](const auto& entry) {
            return entry.first.incarnation == commit.incarnation &&
                   entry.first.activity == cancelled.activity;
          });
        }
      }
    });
    return results;
  }
};

class OneReasonForAll final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto changed = copy_of(commits);
    for (TurnCommit& commit : changed) {
      for (auto& cancelled : commit.cancelled_activities) cancelled.reason = CancelReason::dropped_future;
    }
    return ForwardingProvider::commit_turns(changed, preempt);
  }
};

class StolenLeasesAreNotReturned final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto results = ForwardingProvider::commit_turns(commits, preempt);
    for (CommitResult& result : *results) result.stolen.clear();
    return results;
  }
};

class TheEndLeavesWorkBehind final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto changed = copy_of(commits);
    for (TurnCommit& commit : changed) commit.cancel_rest.reset();
    return ForwardingProvider::commit_turns(changed, preempt);
  }
};

class DroppedTimersFire final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto changed = copy_of(commits);
    for (TurnCommit& commit : changed) commit.dropped_timers.clear();
    return ForwardingProvider::commit_turns(changed, preempt);
  }
};

class AtMostAThousandAreCancelled final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto changed = copy_of(commits);
    for (TurnCommit& commit : changed) {
      auto& list = commit.cancelled_activities;
      if (list.size() > 1000) list.resize(1000);
    }
    return ForwardingProvider::commit_turns(changed, preempt);
  }
};

class ReadStolenLeasesTellsEverybody final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<StolenLease>> read_stolen_leases(const NodeId& node) override {
    std::vector<StolenLease> all = ForwardingProvider::read_stolen_leases(node).value();
    tables([&](MemoryTables& t) {
      for (const auto& [token, tombstone] : t.tombstones) all.push_back(tombstone.lease);
    });
    return all;
  }
};

constexpr Mutant mutants[] = {
    {"cancelled_before_the_new_rows_are_in", "What a turn schedules and cancels at once stays.",
     "test_same_activity_in_worker_items_and_cancelled_is_noop", make_mutant<CancelledBeforeTheNewRowsAreIn>},
    {"no_tombstones", "A holder whose lease was stolen is told that it was lost.",
     "test_cancellation_of_locked_activity_causes_renewal_failure", make_mutant<NoTombstones>},
    {"tombstones_are_removed_when_read", "Who was told once is not told again.",
     "read_stolen_leases_tells_the_owner", make_mutant<TombstonesAreRemovedWhenRead>},
    {"held_activities_are_not_cancelled", "Only rows that nobody holds are deleted.",
     "test_cancellation_of_locked_activity_causes_renewal_failure",
     make_mutant<HeldActivitiesAreNotCancelled>},
    {"cancellation_ignores_the_execution", "Rows of earlier executions go with the same number.",
     "cancellation_is_confined_to_its_instance_and_execution", make_mutant<CancellationIgnoresTheExecution>},
    {"one_reason_for_all", "Every stolen lease has the same reason.",
     "stolen_leases_are_reported_with_owner_and_reason", make_mutant<OneReasonForAll>},
    {"stolen_leases_are_not_returned", "A commit does not say whom it robbed.",
     "stolen_leases_are_reported_with_owner_and_reason", make_mutant<StolenLeasesAreNotReturned>},
    {"the_end_leaves_work_behind", "A terminal turn does not take the rest with it.",
     "cancel_rest_ends_all_work_and_timers", make_mutant<TheEndLeavesWorkBehind>},
    {"dropped_timers_fire", "A dropped timer's message stays.", "dropped_timers_never_fire",
     make_mutant<DroppedTimersFire>},
    {"at_most_a_thousand_are_cancelled", "A long list of cancelled activities is cut.",
     "test_mass_cancellation_deletes_all_activities_10000", make_mutant<AtMostAThousandAreCancelled>},
    {"read_stolen_leases_tells_everybody", "A node reads of leases that were not its own.",
     "read_stolen_leases_tells_the_owner", make_mutant<ReadStolenLeasesTellsEverybody>},
};

}  // namespace

std::span<const Mutant> cancellation_mutants() { return mutants; }

}  // namespace duramen::testing
