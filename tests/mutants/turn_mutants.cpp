// Wrong about turns: by what right they are stored, and what they leave.
#include "mutants/mutant.hpp"

#include <algorithm>
#include <map>

namespace duramen::testing {
namespace {

using Commits = std::span<const TurnCommit>;
using Results = Result<std::vector<CommitResult>>;

class TheLeaseOfATurnIsNotChecked final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto changed = copy_of(commits);
    tables([&](MemoryTables& t) {
      for (TurnCommit& commit : changed) {
        const auto instance = t.instances.find(commit.incarnation);
        if (instance == t.instances.end() || !std::holds_alternative<HeldLease>(commit.basis)) continue;
        instance->second.lease_until = far_away();
        commit.basis = HeldLease{instance->second.lease};
      }
    });
    return ForwardingProvider::commit_turns(changed, preempt);
  }
};

class AnEndedTurnLeaseStillCommits final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    tables([&](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) instance.lease_until = far_away();
    });
    return ForwardingProvider::commit_turns(commits, preempt);
  }
};

class ATurnLeaseIsRevived final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<bool>> renew_turns(std::span<const TurnLease> leases, Duration extend) override {
    tables([&](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) instance.lease_until = far_away();
    });
    return ForwardingProvider::renew_turns(leases, extend);
  }
};

class ARepeatedCommitIsRefused final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    tables([](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) instance.last_commit = {};
    });
    return ForwardingProvider::commit_turns(commits, preempt);
  }
};

class AnyCommitIsARepeatedOne final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto results = ForwardingProvider::commit_turns(commits, preempt);
    for (CommitResult& result : *results) {
      if (result.outcome == CommitOutcome::lease_lost) result.outcome = CommitOutcome::already_committed;
    }
    return results;
  }
};

class AConditionalTurnOvertakesMessages final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    std::map<Incarnation, std::map<QueuePosition, QueuedMessage>> hidden;
    tables([&](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) {
        if (!instance.lease) hidden[incarnation].swap(instance.inbox);
      }
    });
    auto results = ForwardingProvider::commit_turns(commits, preempt);
    tables([&](MemoryTables& t) {
      for (auto& [incarnation, inbox] : hidden) t.instances.at(incarnation).inbox.merge(inbox);
    });
    return results;
  }
};

class AConditionalTurnIgnoresHistory final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto changed = copy_of(commits);
    tables([&](MemoryTables& t) {
      for (TurnCommit& commit : changed) {
        const auto instance = t.instances.find(commit.incarnation);
        auto* condition = std::get_if<ConditionalLease>(&commit.basis);
        if (condition && instance != t.instances.end())
          condition->last_event_id = instance->second.info.last_event_id;
      }
    });
    return ForwardingProvider::commit_turns(changed, preempt);
  }
};

class AConditionalTurnIgnoresALease final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    tables([&](MemoryTables& t) {
      for (const TurnCommit& commit : commits) {
        const auto instance = t.instances.find(commit.incarnation);
        const bool conditional = std::holds_alternative<ConditionalLease>(commit.basis);
        if (conditional && instance != t.instances.end()) {
          instance->second.lease = {};
          instance->second.inbox.clear();
        }
      }
    });
    return ForwardingProvider::commit_turns(commits, preempt);
  }
};

class AFailedConditionDropsItsAcks final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto results = ForwardingProvider::commit_turns(commits, preempt);
    tables([&](MemoryTables& t) {
      for (std::size_t i = 0; i < results->size(); ++i) {
        if ((*results)[i].outcome != CommitOutcome::condition_failed) continue;
        std::erase_if(t.instances.at(commits[i].incarnation).inbox, [](const auto& entry) {
          return std::holds_alternative<message::ActivityCompleted>(entry.second.body);
        });
      }
    });
    return results;
  }
};

class ATurnTakesMessagesThatCameLater final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    tables([&](MemoryTables& t) {
      for (const TurnCommit& commit : commits) {
        const auto* held = std::get_if<HeldLease>(&commit.basis);
        const auto instance = t.instances.find(commit.incarnation);
        if (!held || instance == t.instances.end()) continue;
        for (auto& [position, message] : instance->second.inbox) {
          if (position.visible_at <= clock().now()) message.fetched_under = held->token;
        }
      }
    });
    return ForwardingProvider::commit_turns(commits, preempt);
  }
};

class EventIdsAreNotChecked final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto changed = copy_of(commits);
    tables([&](MemoryTables& t) {
      for (TurnCommit& commit : changed) {
        const auto instance = t.instances.find(commit.incarnation);
        if (instance == t.instances.end() || instance->second.info.execution != commit.execution) continue;
        EventId last = instance->second.info.last_event_id;
        for (Event& event : commit.events) event.id = last = last.next();
      }
    });
    return ForwardingProvider::commit_turns(changed, preempt);
  }
};

class TurnsOfABatchSeeEachOthersMessages final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token&) override {
    std::vector<CommitResult> results;
    for (std::size_t i = 0; i < commits.size(); ++i) {
      results.push_back(ForwardingProvider::commit_turns(commits.subspan(i, 1), {}).value()[0]);
    }
    return results;
  }
};

class OneBadTurnFailsTheBatch final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token&) override {
    std::vector<CommitResult> results;
    bool refused = false;
    for (std::size_t i = 0; i < commits.size() && !refused; ++i) {
      results.push_back(ForwardingProvider::commit_turns(commits.subspan(i, 1), {}).value()[0]);
      refused = results.back().outcome != CommitOutcome::committed;
    }
    results.resize(commits.size(), CommitResult{.outcome = CommitOutcome::lease_lost});
    return results;
  }
};

class AHurriedBatchIsStoredButNotAnswered final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto results = ForwardingProvider::commit_turns(commits, {});
    if (results && preempt.stop_requested()) results->resize(results->size() / 2);
    return results;
  }
};

class AHurriedBatchIsStoredFromItsEnd final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    if (preempt.stop_requested()) commits = commits.last(commits.size() / 2);
    return ForwardingProvider::commit_turns(commits, {});
  }
};

class TheCustomStatusVersionStandsStill final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto results = ForwardingProvider::commit_turns(commits, preempt);
    tables([](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) {
        instance.info.custom_status_version = std::min<std::uint64_t>(instance.info.custom_status_version, 1);
      }
    });
    return results;
  }
};

class ReplayBeginsWithItsOwnChanges final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<TurnBatch> fetch_turns(const TurnFetch& request) override {
    auto batch = ForwardingProvider::fetch_turns(request);
    for (auto& item : batch->items) item.key_values = inner().get_key_values(item.instance).value();
    return batch;
  }
};

class KeyValuesAreNotSettled final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto results = ForwardingProvider::commit_turns(commits, preempt);
    tables([](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) instance.settled.clear();
    });
    return results;
  }
};

class AnOldIncarnationCommits final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto changed = copy_of(commits);
    tables([&](MemoryTables& t) {
      for (TurnCommit& commit : changed) {
        const auto name = t.names.find(commit.instance);
        if (name != t.names.end()) commit.incarnation = name->second;
      }
    });
    return ForwardingProvider::commit_turns(changed, preempt);
  }
};

class AnInvalidTurnHasNoReason final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto results = ForwardingProvider::commit_turns(commits, preempt);
    for (CommitResult& result : *results) result.message.clear();
    return results;
  }
};

class ARefusedDetachedStartIsNotReported final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto results = ForwardingProvider::commit_turns(commits, preempt);
    for (CommitResult& result : *results) result.refused_starts.clear();
    return results;
  }
};

constexpr Mutant mutants[] = {
    {"the_lease_of_a_turn_is_not_checked", "A turn is stored whatever its lease.",
     "test_lock_expires_after_timeout", make_mutant<TheLeaseOfATurnIsNotChecked>},
    {"an_ended_turn_lease_still_commits", "A lease that nobody took over commits late.",
     "test_lock_expiration_during_ack", make_mutant<AnEndedTurnLeaseStillCommits>},
    {"a_turn_lease_is_revived", "A renewal brings back a lease that has ended.",
     "test_orchestration_lock_renewal_after_expiration", make_mutant<ATurnLeaseIsRevived>},
    {"a_repeated_commit_is_refused", "A commit whose answer was lost is not recognised.",
     "a_repeated_commit_is_recognised_held", make_mutant<ARepeatedCommitIsRefused>},
    {"any_commit_is_a_repeated_one", "Whatever loses its lease is taken for a repeat.",
     "test_invalid_lock_token_rejection", make_mutant<AnyCommitIsARepeatedOne>},
    {"a_conditional_turn_overtakes_messages", "A waiting message does not fail the condition.",
     "conditional_commit_fails_when_a_message_waits", make_mutant<AConditionalTurnOvertakesMessages>},
    {"a_conditional_turn_ignores_history", "The last event is not compared.",
     "conditional_commit_fails_when_history_moved_on", make_mutant<AConditionalTurnIgnoresHistory>},
    {"a_conditional_turn_ignores_a_lease", "Somebody else's lease does not fail the condition.",
     "conditional_commit_fails_when_leased", make_mutant<AConditionalTurnIgnoresALease>},
    {"a_failed_condition_drops_its_acks", "The ends that came with a refused turn are lost.",
     "conditional_commit_fails_when_history_moved_on", make_mutant<AFailedConditionDropsItsAcks>},
    {"a_turn_takes_messages_that_came_later", "A commit deletes all that is visible.",
     "test_ack_only_affects_locked_messages", make_mutant<ATurnTakesMessagesThatCameLater>},
    {"event_ids_are_not_checked", "Events are stored under the next free numbers.",
     "test_duplicate_event_id_rejection", make_mutant<EventIdsAreNotChecked>},
    {"an_invalid_turn_has_no_reason", "A turn is refused without a word.",
     "an_invalid_commit_gives_its_reason", make_mutant<AnInvalidTurnHasNoReason>},
    {"a_refused_detached_start_is_not_reported", "A detached start of a taken id vanishes.",
     "a_detached_start_of_a_taken_id_is_reported", make_mutant<ARefusedDetachedStartIsNotReported>},
    {"turns_of_a_batch_see_each_others_messages",
     "Each turn's messages are stored before the next turn is decided.",
     "turns_are_decided_before_their_messages_are_sent", make_mutant<TurnsOfABatchSeeEachOthersMessages>},
    {"one_bad_turn_fails_the_batch", "Nothing of a batch is stored if one turn is refused.",
     "commits_in_one_batch_are_independent", make_mutant<OneBadTurnFailsTheBatch>},
    {"a_hurried_batch_is_stored_but_not_answered", "The last turns of a hurried batch have no answer.",
     "a_hurried_batch_is_stored_from_its_beginning", make_mutant<AHurriedBatchIsStoredButNotAnswered>},
    {"a_hurried_batch_is_stored_from_its_end", "A hurry leaves out the first turns.",
     "a_hurried_batch_is_stored_from_its_beginning", make_mutant<AHurriedBatchIsStoredFromItsEnd>},
    {"the_custom_status_version_stands_still", "A second change is not counted.",
     "test_custom_status_version_increments", make_mutant<TheCustomStatusVersionStandsStill>},
    {"replay_begins_with_its_own_changes", "The fetch shows key-values of the current execution.",
     "test_kv_delta_snapshot_excludes_current_execution", make_mutant<ReplayBeginsWithItsOwnChanges>},
    {"key_values_are_not_settled", "What an execution set is not there for the next.",
     "test_kv_delta_snapshot_includes_completed_execution", make_mutant<KeyValuesAreNotSettled>},
    {"an_old_incarnation_commits", "A turn is matched by the instance's name.", "old_turns_touch_nothing",
     make_mutant<AnOldIncarnationCommits>},
};

}  // namespace

std::span<const Mutant> turn_mutants() { return mutants; }

}  // namespace duramen::testing
