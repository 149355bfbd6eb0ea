// Wrong about starts, messages and listeners.
#include "mutants/mutant.hpp"

#include <algorithm>

namespace duramen::testing {
namespace {

using Sent = Result<std::vector<EnqueueOutcome>>;
using Messages = std::span<const OutboundMessage>;

class SilentSubscription final : public Subscription {};

class MessageIdsAreForgotten final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Sent enqueue_messages(Messages messages) override {
    auto changed = copy_of(messages);
    for (auto& message : changed) message.message_id.reset();
    return ForwardingProvider::enqueue_messages(changed);
  }
};

class MessageIdsAreForgottenWithDelivery final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    auto results = ForwardingProvider::commit_turns(commits, preempt);
    tables([](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) instance.message_ids.clear();
    });
    return results;
  }
};

class ParkedMessagesBlockOthers final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<TurnBatch> fetch_turns(const TurnFetch& request) override {
    bool blocked = false;
    tables([&](MemoryTables& t) { blocked = !t.parked.empty(); });
    if (blocked) return TurnBatch{};
    return ForwardingProvider::fetch_turns(request);
  }
};

class ParkedMessagesAreLost final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<StartOutcome>> start_instances(std::span<const StartRequest> requests) override {
    tables([](MemoryTables& t) { t.parked.clear(); });
    return ForwardingProvider::start_instances(requests);
  }
};

class ParkedMessagesNeverExpire final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<SweepResult> sweep(std::size_t limit) override {
    tables([&](MemoryTables& t) {
      for (auto& [target, waiting] : t.parked) {
        for (auto& message : waiting) message.until = far_away();
      }
    });
    return ForwardingProvider::sweep(limit);
  }
};

class TimersFireAtOnce final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Sent enqueue_messages(Messages messages) override {
    auto changed = copy_of(messages);
    for (auto& message : changed) {
      if (auto* timer = std::get_if<message::TimerFired>(&message.body)) timer->fire_at = clock().now();
    }
    return ForwardingProvider::enqueue_messages(changed);
  }
};

class ThePastOvertakes final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Sent enqueue_messages(Messages messages) override {
    auto sent = ForwardingProvider::enqueue_messages(messages);
    tables([&](MemoryTables& t) {
      for (const auto& message : messages) {
        const auto name = t.names.find(message.target);
        if (name == t.names.end() || message.visible_at == TimePoint{}) continue;
        auto& inbox = t.instances.at(name->second).inbox;
        auto last = inbox.extract(std::prev(inbox.end()));
        if (message.visible_at < clock().now()) last.key() = -1;
        inbox.insert(std::move(last));
      }
    });
    return sent;
  }
};

class AnAnswerReachesAnyIncarnation final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Sent enqueue_messages(Messages messages) override {
    auto changed = copy_of(messages);
    tables([&](MemoryTables& t) {
      for (auto& message : changed) {
        const auto name = t.names.find(message.target);
        if (name == t.names.end()) continue;
        if (auto* done = std::get_if<message::SubOrchestrationCompleted>(&message.body))
          done->parent.incarnation = name->second;
        if (auto* failed = std::get_if<message::SubOrchestrationFailed>(&message.body))
          failed->parent.incarnation = name->second;
      }
    });
    return ForwardingProvider::enqueue_messages(changed);
  }
};

class AnEndedInstanceSaysEnqueued final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Sent enqueue_messages(Messages messages) override {
    auto sent = ForwardingProvider::enqueue_messages(messages);
    std::ranges::replace(*sent, EnqueueOutcome::finished, EnqueueOutcome::enqueued);
    return sent;
  }
};

class EveryStartMayReplace final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<StartOutcome>> start_instances(std::span<const StartRequest> requests) override {
    auto changed = copy_of(requests);
    for (auto& request : changed) request.reuse = IdReuse::replace_when_final;
    return ForwardingProvider::start_instances(changed);
  }
};

class AConflictIsTakenForARepeat final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<StartOutcome>> start_instances(std::span<const StartRequest> requests) override {
    auto outcomes = ForwardingProvider::start_instances(requests);
    std::ranges::replace(*outcomes, StartOutcome::conflict, StartOutcome::exists);
    return outcomes;
  }
};

class ATakenChildIdIsNotAnswered final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    auto changed = copy_of(commits);
    for (TurnCommit& commit : changed) {
      for (auto& message : commit.messages) message.if_refused.reset();
    }
    return ForwardingProvider::commit_turns(changed, preempt);
  }
};

class NoListenerIsNotified final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  std::unique_ptr<Subscription> subscribe(NodeId, ProviderListener&) override {
    return std::make_unique<SilentSubscription>();
  }
};

class AllListenersReceiveStolenLeases final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  std::unique_ptr<Subscription> subscribe(NodeId, ProviderListener& listener) override {
    return ForwardingProvider::subscribe("node-a", listener);
  }
};

constexpr Mutant mutants[] = {
    {"message_ids_are_forgotten", "A message that is sent again is delivered again.",
     "a_message_id_is_stored_once_per_instance", make_mutant<MessageIdsAreForgotten>},
    {"message_ids_are_forgotten_with_delivery", "Only messages that still wait are compared.",
     "a_message_id_is_stored_once_per_instance", make_mutant<MessageIdsAreForgottenWithDelivery>},
    {"parked_messages_block_others", "While messages are parked, a fetch returns nothing.",
     "messages_to_unknown_instances_do_not_delay_others", make_mutant<ParkedMessagesBlockOthers>},
    {"parked_messages_are_lost", "Messages sent before the start are never delivered.",
     "parked_messages_are_delivered_when_the_instance_starts", make_mutant<ParkedMessagesAreLost>},
    {"parked_messages_never_expire", "No sweep drops parked messages.",
     "a_sweep_drops_and_counts_expired_parked_messages", make_mutant<ParkedMessagesNeverExpire>},
    {"timers_fire_at_once", "The time of a timer is ignored.", "a_timer_fires_at_its_time",
     make_mutant<TimersFireAtOnce>},
    {"the_past_overtakes", "A message with an old time comes before those that arrived earlier.",
     "only_timers_and_starts_wait_for_a_time", make_mutant<ThePastOvertakes>},
    {"an_answer_reaches_any_incarnation", "A child's answer goes to any instance with the parent's id.",
     "a_childs_answer_to_a_replaced_parent_is_dropped", make_mutant<AnAnswerReachesAnyIncarnation>},
    {"an_ended_instance_says_enqueued", "A message to an ended instance is answered `enqueued`.",
     "a_finished_instance_accepts_no_messages", make_mutant<AnEndedInstanceSaysEnqueued>},
    {"every_start_may_replace", "An ended instance is replaced although the policy is `reject`.",
     "a_final_instance_is_replaced_only_by_replace_when_final", make_mutant<EveryStartMayReplace>},
    {"a_conflict_is_taken_for_a_repeat", "Another start of the same id is answered `exists`.",
     "a_repeated_start_exists_and_a_different_one_conflicts", make_mutant<AConflictIsTakenForARepeat>},
    {"a_taken_child_id_is_not_answered", "A parent never gets an answer for a refused child.",
     "a_taken_child_id_sends_the_parent_its_prepared_answer", make_mutant<ATakenChildIdIsNotAnswered>},
    {"no_listener_is_notified", "There is no push.", "push_reports_new_activities",
     make_mutant<NoListenerIsNotified>},
    {"all_listeners_receive_stolen_leases", "Every listener receives the stolen leases of other nodes.",
     "push_reports_a_timeout_to_the_owner", make_mutant<AllListenersReceiveStolenLeases>},
};

}  // namespace

std::span<const Mutant> message_mutants() { return mutants; }

}  // namespace duramen::testing
