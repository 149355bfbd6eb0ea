// Wrong about turns: the conditions of a commit, and its effects.
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
        std::get<HeldLease>(commit.basis).token = instance->second.lease;
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
    std::map<Incarnation, std::map<std::int64_t, QueuedMessage>> hidden;
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
    auto changed = copy_of(commits);
    tables([&](MemoryTables& t) {
      for (TurnCommit& commit : changed) {
        auto* held = std::get_if<HeldLease>(&commit.basis);
        const auto instance = t.instances.find(commit.incarnation);
        if (!held || instance == t.instances.end()) continue;
        for (const auto& [place, message] : instance->second.inbox) held->taken.push_back(place);
      }
    });
    return ForwardingProvider::commit_turns(changed, preempt);
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

class APreemptedBatchIsStoredButNotAnswered final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto results = ForwardingProvider::commit_turns(commits, {});
    if (results && preempt.stop_requested()) results->resize(results->size() / 2);
    return results;
  }
};

class APreemptedBatchIsStoredFromItsEnd final : public WrongProvider {
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

class KeyValuesAreNotCarriedOver final : public WrongProvider {
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
    {"the_lease_of_a_turn_is_not_checked", "A turn is stored under any lease.",
     "the_old_holder_is_refused_after_a_takeover", make_mutant<TheLeaseOfATurnIsNotChecked>},
    {"an_ended_turn_lease_still_commits", "An expired lease can commit until a takeover.",
     "a_commit_under_an_expired_lease_is_refused_without_a_takeover",
     make_mutant<AnEndedTurnLeaseStillCommits>},
    {"a_turn_lease_is_revived", "A renewal brings back a lease that has ended.",
     "a_renewal_extends_a_turn_lease_and_never_revives_it", make_mutant<ATurnLeaseIsRevived>},
    {"a_repeated_commit_is_refused", "A commit whose answer was lost is not recognised.",
     "a_repeated_commit_under_a_held_lease_is_recognised", make_mutant<ARepeatedCommitIsRefused>},
    {"any_commit_is_a_repeated_one", "A commit under a lost lease is answered `already_committed`.",
     "another_token_cannot_commit_renew_or_release", make_mutant<AnyCommitIsARepeatedOne>},
    {"a_conditional_turn_overtakes_messages", "A queued message does not fail the condition.",
     "a_conditional_commit_fails_when_a_message_is_queued", make_mutant<AConditionalTurnOvertakesMessages>},
    {"a_conditional_turn_ignores_history", "The last event is not compared.",
     "a_conditional_commit_fails_after_newer_events", make_mutant<AConditionalTurnIgnoresHistory>},
    {"a_conditional_turn_ignores_a_lease", "Another node's lease does not fail the condition.",
     "a_conditional_commit_fails_while_the_instance_is_leased", make_mutant<AConditionalTurnIgnoresALease>},
    {"a_failed_condition_drops_its_acks", "The acks of a refused turn are lost.",
     "a_conditional_commit_fails_after_newer_events", make_mutant<AFailedConditionDropsItsAcks>},
    {"a_turn_takes_messages_that_came_later", "A commit deletes all queued messages.",
     "a_commit_deletes_only_the_messages_of_its_fetch", make_mutant<ATurnTakesMessagesThatCameLater>},
    {"event_ids_are_not_checked", "Events are stored under the next free numbers.",
     "event_ids_that_do_not_continue_history_are_invalid", make_mutant<EventIdsAreNotChecked>},
    {"an_invalid_turn_has_no_reason", "An invalid turn gets no message.",
     "an_invalid_commit_returns_a_message", make_mutant<AnInvalidTurnHasNoReason>},
    {"a_refused_detached_start_is_not_reported", "A detached start of a taken id vanishes.",
     "a_detached_start_of_a_taken_id_is_reported", make_mutant<ARefusedDetachedStartIsNotReported>},
    {"turns_of_a_batch_see_each_others_messages",
     "Each turn's messages are stored before the next turn is decided.",
     "messages_of_a_batch_do_not_fail_its_conditional_turns",
     make_mutant<TurnsOfABatchSeeEachOthersMessages>},
    {"one_bad_turn_fails_the_batch", "Nothing of a batch is stored if one turn is refused.",
     "commits_in_one_batch_are_independent", make_mutant<OneBadTurnFailsTheBatch>},
    {"a_preempted_batch_is_stored_but_not_answered",
     "The last turns of a preempted batch are stored without an answer.",
     "a_preempted_batch_is_stored_from_its_beginning", make_mutant<APreemptedBatchIsStoredButNotAnswered>},
    {"a_preempted_batch_is_stored_from_its_end", "A preempted batch skips the first turns.",
     "a_preempted_batch_is_stored_from_its_beginning", make_mutant<APreemptedBatchIsStoredFromItsEnd>},
    {"the_custom_status_version_stands_still", "A second change is not counted.",
     "every_change_increments_the_custom_status_version", make_mutant<TheCustomStatusVersionStandsStill>},
    {"replay_begins_with_its_own_changes", "The fetch shows key-values of the current execution.",
     "readers_see_a_key_value_at_once_and_replay_does_not", make_mutant<ReplayBeginsWithItsOwnChanges>},
    {"key_values_are_not_carried_over", "The next execution begins without the key-values of the last one.",
     "key_values_of_an_ended_execution_are_in_the_next_snapshot", make_mutant<KeyValuesAreNotCarriedOver>},
    {"an_old_incarnation_commits", "A turn is matched by instance id, not by incarnation.",
     "leases_and_turns_of_a_replaced_instance_are_refused", make_mutant<AnOldIncarnationCommits>},
};

}  // namespace

std::span<const Mutant> turn_mutants() { return mutants; }

}  // namespace duramen::testing
