// Wrong about cancellation: the deleted rows, the notified holders, and the reason.
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

class TheEndLeavesActivitiesBehind final : public WrongProvider {
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

class ReadStolenLeasesIgnoresTheOwner final : public WrongProvider {
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
    {"cancelled_before_the_new_rows_are_in", "An activity that one turn schedules and cancels stays.",
     "an_activity_scheduled_and_cancelled_by_one_turn_never_runs",
     make_mutant<CancelledBeforeTheNewRowsAreIn>},
    {"no_tombstones", "The holder of a stolen lease receives `lease_lost`.",
     "test_cancellation_of_locked_activity_causes_renewal_failure", make_mutant<NoTombstones>},
    {"tombstones_are_removed_when_read", "A stolen lease can be read only once.",
     "read_stolen_leases_returns_only_those_of_the_owner", make_mutant<TombstonesAreRemovedWhenRead>},
    {"held_activities_are_not_cancelled", "Only unleased rows are deleted.",
     "test_cancellation_of_locked_activity_causes_renewal_failure",
     make_mutant<HeldActivitiesAreNotCancelled>},
    {"cancellation_ignores_the_execution", "Rows of earlier executions with the same number are deleted.",
     "a_cancellation_affects_only_its_instance_and_execution", make_mutant<CancellationIgnoresTheExecution>},
    {"one_reason_for_all", "Every stolen lease has the same reason.",
     "a_commit_reports_stolen_leases_with_owner_and_reason", make_mutant<OneReasonForAll>},
    {"stolen_leases_are_not_returned", "A commit does not return the stolen leases.",
     "a_commit_reports_stolen_leases_with_owner_and_reason", make_mutant<StolenLeasesAreNotReturned>},
    {"the_end_leaves_activities_behind", "A terminal turn does not delete the remaining activities.",
     "cancel_rest_deletes_all_activities_and_timers", make_mutant<TheEndLeavesActivitiesBehind>},
    {"dropped_timers_fire", "A dropped timer's message stays.", "dropped_timers_never_fire",
     make_mutant<DroppedTimersFire>},
    {"at_most_a_thousand_are_cancelled", "A long list of cancelled activities is cut.",
     "one_commit_cancels_ten_thousand_activities", make_mutant<AtMostAThousandAreCancelled>},
    {"read_stolen_leases_ignores_the_owner", "A node reads stolen leases of other nodes.",
     "read_stolen_leases_returns_only_those_of_the_owner", make_mutant<ReadStolenLeasesIgnoresTheOwner>},
};

}  // namespace

std::span<const Mutant> cancellation_mutants() { return mutants; }

}  // namespace duramen::testing
