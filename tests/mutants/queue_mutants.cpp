// Wrong about the queue of an instance: its order, its limits, its cancels and its replay tokens.
#include "mutants/mutant.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace duramen::testing {
namespace {

using Batch = Result<TurnBatch>;
using Commits = std::span<const TurnCommit>;
using Results = Result<std::vector<CommitResult>>;

bool is_timer(const InboxMessage& message) {
  return std::holds_alternative<message::TimerFired>(message.body);
}

class TimersComeLast final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Batch fetch_turns(const TurnFetch& request) override {
    auto batch = ForwardingProvider::fetch_turns(request);
    for (auto& item : batch->items) std::ranges::sort(item.messages, {}, &InboxMessage::place);
    return batch;
  }
};

class TimersComeFirst final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Batch fetch_turns(const TurnFetch& request) override {
    auto batch = ForwardingProvider::fetch_turns(request);
    for (auto& item : batch->items) {
      std::ranges::sort(item.messages, {},
                        [](const InboxMessage& m) { return std::pair(!is_timer(m), m.place); });
    }
    return batch;
  }
};

class ATurnTakesAllItWasGiven final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Batch fetch_turns(const TurnFetch& request) override {
    auto batch = ForwardingProvider::fetch_turns(request);
    for (const auto& item : batch->items) given_[item.lease] = HeldLease::all_of(item);
    return batch;
  }
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto changed = copy_of(commits);
    for (TurnCommit& commit : changed) {
      if (auto* held = std::get_if<HeldLease>(&commit.basis)) *held = given_[held->token];
    }
    return ForwardingProvider::commit_turns(changed, preempt);
  }

 private:
  std::map<LeaseToken, HeldLease> given_;
};

class WhatIsPutBackComesLast final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto changed = copy_of(commits);
    for (TurnCommit& commit : changed) {
      for (MessageBody& body : commit.put_back) commit.messages.push_back({commit.instance, std::move(body)});
      commit.put_back.clear();
    }
    return ForwardingProvider::commit_turns(changed, preempt);
  }
};

class MailBeyondALimitIsNotPutBack final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto changed = copy_of(commits);
    for (TurnCommit& commit : changed) {
      if (commit.put_back.size() > 4) commit.put_back.resize(4);
    }
    return ForwardingProvider::commit_turns(changed, preempt);
  }
};

class AnythingIsPutBack final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto changed = copy_of(commits);
    for (TurnCommit& commit : changed) {
      if (commit.change.status != Status::continued_as_new) commit.put_back.clear();
    }
    return ForwardingProvider::commit_turns(changed, preempt);
  }
};

class AFetchHasNoLimits final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Batch fetch_turns(const TurnFetch& request) override {
    TurnFetch changed = request;
    changed.max_messages = changed.max_bytes = changed.max_total_bytes = std::size_t{1} << 40u;
    return ForwardingProvider::fetch_turns(changed);
  }
};

class ALargeFirstMessageIsNotReturned final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Batch fetch_turns(const TurnFetch& request) override {
    auto batch = ForwardingProvider::fetch_turns(request);
    if (request.max_bytes < 1024) batch->items.clear();
    return batch;
  }
};

class ACancelWaitsBehindTheLimits final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Batch fetch_turns(const TurnFetch& request) override {
    std::map<Incarnation, std::optional<std::int64_t>> hidden;
    tables([&](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) std::swap(hidden[incarnation], instance.cancel_place);
    });
    auto batch = ForwardingProvider::fetch_turns(request);
    tables([&](MemoryTables& t) {
      for (auto& [incarnation, place] : hidden) t.instances.at(incarnation).cancel_place = place;
    });
    return batch;
  }
};

class EveryCancelIsQueued final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<EnqueueOutcome>> enqueue_messages(std::span<const OutboundMessage> messages) override {
    tables([](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) instance.info.cancel_asked.reset();
    });
    return ForwardingProvider::enqueue_messages(messages);
  }
};

class AnyParentMayCancel final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<EnqueueOutcome>> enqueue_messages(std::span<const OutboundMessage> messages) override {
    auto changed = copy_of(messages);
    for (auto& message : changed) {
      if (auto* cancel = std::get_if<message::CancelInstance>(&message.body)) cancel->parent.reset();
    }
    return ForwardingProvider::enqueue_messages(changed);
  }
};

class EveryCancelNeedsNoCode final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Batch fetch_turns(const TurnFetch& request) override {
    tables([](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) instance.info.graceful = false;
    });
    return ForwardingProvider::fetch_turns(request);
  }
};

class AChildOutrunsTheCancelOfItsParent final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    tables([&](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) instance.cancel_place.reset();
    });
    return ForwardingProvider::commit_turns(commits, preempt);
  }
};

class ATimerSentAgainIsLost final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<EnqueueOutcome>> enqueue_messages(std::span<const OutboundMessage> messages) override {
    auto outcomes = ForwardingProvider::enqueue_messages(messages);
    for (const OutboundMessage& message : messages) {
      const auto* timer = std::get_if<message::TimerFired>(&message.body);
      if (timer == nullptr || sent_.insert({message.target, timer->id}).second) continue;
      tables([&](MemoryTables& t) {
        for (auto& [incarnation, instance] : t.instances) instance.timers.erase(timer->id);
      });
    }
    return outcomes;
  }

 private:
  std::set<std::pair<InstanceId, EventId>> sent_;
};

class ABeginningLosesItsRequester final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto changed = copy_of(commits);
    for (TurnCommit& commit : changed) {
      for (OutboundMessage& message : commit.messages) {
        if (auto* next = std::get_if<message::ContinueAsNew>(&message.body)) next->requested_by.reset();
      }
    }
    return ForwardingProvider::commit_turns(changed, preempt);
  }
};

class AFusedContinueAsNewAsksForTheFirstVersion final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto results = ForwardingProvider::commit_turns(commits, preempt);
    tables([&](MemoryTables& t) {
      for (const TurnCommit& commit : commits) {
        const auto* fused = std::get_if<FusedStart>(&commit.basis);
        if (fused == nullptr) continue;
        for (auto& [incarnation, instance] : t.instances) {
          if (instance.info.instance == commit.instance)
            instance.asked_version = fused->request.start.version;
        }
      }
    });
    return results;
  }
};

class ALastTurnForgetsTheQueuedCancel final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    tables([&](MemoryTables& t) {
      for (const TurnCommit& commit : commits) {
        const auto found = t.instances.find(commit.incarnation);
        if (found != t.instances.end() && is_final(commit.change.status)) found->second.cancel_place.reset();
      }
    });
    return ForwardingProvider::commit_turns(commits, preempt);
  }
};

class TheVersionAskedForIsIgnored final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Batch fetch_turns(const TurnFetch& request) override {
    tables([](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) instance.asked_version.reset();
    });
    return ForwardingProvider::fetch_turns(request);
  }
};

class AConditionalTurnIgnoresItsToken final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto changed = copy_of(commits);
    for (TurnCommit& commit : changed) {
      if (auto* condition = std::get_if<ConditionalLease>(&commit.basis)) condition->replay_token = {};
    }
    return ForwardingProvider::commit_turns(changed, preempt);
  }
};

class AHistoryReadIgnoresItsToken final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  std::vector<Result<std::vector<Event>>> read_histories(std::span<const HistoryRequest> requests) override {
    auto changed = copy_of(requests);
    for (HistoryRequest& request : changed) request.token = {};
    return ForwardingProvider::read_histories(changed);
  }
};

class ATurnWithoutEventsChangesTheToken final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    auto results = ForwardingProvider::commit_turns(commits, preempt);
    tables([&](MemoryTables& t) {
      for (const TurnCommit& commit : commits) {
        const auto instance = t.instances.find(commit.incarnation);
        if (instance != t.instances.end()) instance->second.replay_token = commit.token;
      }
    });
    return results;
  }
};

constexpr Mutant mutants[] = {
    {"timers_come_last", "A due timer waits behind every message.",
     "a_due_timer_stands_between_earlier_and_later_messages", make_mutant<TimersComeLast>},
    {"timers_come_first", "A due timer overtakes messages that were sent before its time.",
     "a_due_timer_stands_between_earlier_and_later_messages", make_mutant<TimersComeFirst>},
    {"a_turn_takes_all_it_was_given", "A commit deletes every message of its fetch.",
     "a_turn_may_leave_messages_in_the_queue", make_mutant<ATurnTakesAllItWasGiven>},
    {"mail_beyond_a_limit_is_not_put_back", "Of much mail only the first part is put back.",
     "any_amount_of_mail_is_put_back", make_mutant<MailBeyondALimitIsNotPutBack>},
    {"anything_is_put_back", "A turn that begins no execution may put mail back.",
     "only_mail_is_put_back_and_only_with_a_beginning", make_mutant<AnythingIsPutBack>},
    {"what_is_put_back_comes_last", "Mail that a turn puts back stands behind the queue.",
     "what_a_turn_puts_back_comes_before_the_queue", make_mutant<WhatIsPutBackComesLast>},
    {"a_fetch_has_no_limits", "A fetch returns the whole queue of an instance.",
     "a_fetch_returns_at_most_so_many_messages_of_an_instance", make_mutant<AFetchHasNoLimits>},
    {"a_large_first_message_is_not_returned", "A message above the limit blocks its instance.",
     "the_first_message_is_returned_whatever_its_size", make_mutant<ALargeFirstMessageIsNotReturned>},
    {"a_cancel_waits_behind_the_limits", "A cancel is returned only when its place is reached.",
     "a_queued_cancel_is_returned_beyond_the_limits", make_mutant<ACancelWaitsBehindTheLimits>},
    {"every_cancel_is_queued", "A repeated cancel is stored again.", "a_cancel_counts_once",
     make_mutant<EveryCancelIsQueued>},
    {"any_parent_may_cancel", "The parent link of a cancel is not compared.",
     "a_cancel_from_a_parent_reaches_only_its_own_child", make_mutant<AnyParentMayCancel>},
    {"a_cancel_always_needs_the_code", "A node without the code never receives a cancelled instance.",
     "a_terminated_instance_is_fetched_by_any_node", make_mutant<ACancelWaitsBehindTheLimits>},
    {"every_cancel_needs_no_code", "A graceful cancel is given to a node that cannot clean up.",
     "a_graceful_cancel_of_graceful_code_waits_for_the_code", make_mutant<EveryCancelNeedsNoCode>},
    {"a_child_outruns_the_cancel_of_its_parent", "A child that is started beside a queued cancel runs.",
     "a_child_of_a_parent_with_a_queued_cancel_is_born_with_it",
     make_mutant<AChildOutrunsTheCancelOfItsParent>},
    {"a_last_turn_forgets_the_queued_cancel", "A child that a last turn starts beside a queued cancel runs.",
     "a_child_that_a_last_turn_starts_is_born_with_the_queued_cancel",
     make_mutant<ALastTurnForgetsTheQueuedCancel>},
    {"the_version_asked_for_is_ignored", "A new execution is given to nodes without its version.",
     "a_version_that_is_asked_for_is_waited_for", make_mutant<TheVersionAskedForIsIgnored>},
    {"a_timer_sent_again_is_lost", "A second message of a timer takes the timer away.",
     "a_timer_that_is_sent_again_still_fires", make_mutant<ATimerSentAgainIsLost>},
    {"a_beginning_loses_its_requester", "The next execution does not know the requester of the start.",
     "the_beginning_of_the_next_execution_is_stored_unchanged", make_mutant<ABeginningLosesItsRequester>},
    {"a_fused_continue_as_new_asks_for_the_first_version", "The version of the start is asked for again.",
     "a_first_turn_that_continues_as_new_may_ask_for_another_version",
     make_mutant<AFusedContinueAsNewAsksForTheFirstVersion>},
    {"a_conditional_turn_ignores_its_token", "Only the number of the last event is compared.",
     "a_conditional_commit_demands_the_token_it_names", make_mutant<AConditionalTurnIgnoresItsToken>},
    {"a_history_read_ignores_its_token", "A history is continued although another commit stored it.",
     "a_history_is_read_after_the_event_of_its_token", make_mutant<AHistoryReadIgnoresItsToken>},
    {"a_turn_without_events_changes_the_token", "The token names the last commit, not the last events.",
     "a_fetch_returns_the_token_of_the_last_events", make_mutant<ATurnWithoutEventsChangesTheToken>},
};

}  // namespace

std::span<const Mutant> queue_mutants() { return mutants; }

}  // namespace duramen::testing
