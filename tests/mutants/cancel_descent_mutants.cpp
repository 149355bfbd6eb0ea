// Wrong about cancels of trees: how far a cancel goes down, and with which words.
#include "mutants/mutant.hpp"

#include <map>
#include <set>

namespace duramen::testing {
namespace {

using Commits = std::span<const TurnCommit>;
using Messages = std::span<const OutboundMessage>;
using Results = Result<std::vector<CommitResult>>;
using Outcomes = Result<std::vector<EnqueueOutcome>>;

/// The base: does something wrong before and after every call that sends messages.
class WrongDescent : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Results commit_turns(Commits commits, const std::stop_token& preempt) override {
    targets_.clear();
    for (const TurnCommit& commit : commits) {
      for (const OutboundMessage& message : commit.messages) targets_.insert(message.target);
    }
    prepare();
    auto results = ForwardingProvider::commit_turns(commits, preempt);
    spoil();
    return results;
  }
  Outcomes enqueue_messages(Messages messages) override {
    targets_.clear();
    for (const OutboundMessage& message : messages) targets_.insert(message.target);
    prepare();
    auto outcomes = ForwardingProvider::enqueue_messages(messages);
    spoil();
    return outcomes;
  }

 protected:
  virtual void prepare() {}
  virtual void spoil() {}
  /// True if the call names the instance.
  [[nodiscard]] bool is_target(const Instance& instance) const {
    return targets_.contains(instance.info.instance);
  }

 private:
  std::set<InstanceId> targets_;
};

class ACancelStaysWithItsTarget final : public WrongDescent {
 public:
  using WrongDescent::WrongDescent;
  void prepare() override {
    tables([&](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) {
        if (!is_target(instance)) std::swap(hidden_[incarnation], instance.info.parent);
      }
    });
  }
  void spoil() override {
    tables([&](MemoryTables& t) {
      for (auto& [incarnation, parent] : std::exchange(hidden_, {})) {
        t.instances.at(incarnation).info.parent = parent;
      }
    });
  }

 private:
  std::map<Incarnation, std::optional<ParentLink>> hidden_;
};

class ACancelPassesThroughGracefulInstances final : public WrongDescent {
 public:
  using WrongDescent::WrongDescent;
  void prepare() override {
    tables([&](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) {
        if (std::exchange(instance.info.graceful, false)) graceful_.insert(incarnation);
      }
    });
  }
  void spoil() override {
    tables([&](MemoryTables& t) {
      for (const Incarnation incarnation : std::exchange(graceful_, {})) {
        t.instances.at(incarnation).info.graceful = true;
      }
    });
  }

 private:
  std::set<Incarnation> graceful_;
};

class TerminateStopsAtGracefulInstances final : public WrongDescent {
 public:
  using WrongDescent::WrongDescent;
  void spoil() override {
    tables([&](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) {
        if (is_target(instance) || !instance.info.parent) continue;
        const auto parent = t.instances.find(instance.info.parent->incarnation);
        if (parent == t.instances.end() || !parent->second.info.graceful) continue;
        instance.info.cancel_asked.reset();
      }
    });
  }
};

/// Passes every cancel on until none is left to pass on.
class ACancelGoesDownWithoutBound final : public WrongDescent {
 public:
  using WrongDescent::WrongDescent;
  void spoil() override {
    for (bool more = true; more;) {
      std::vector<OutboundMessage> rest;
      tables([&](MemoryTables& t) {
        for (auto& [incarnation, instance] : t.instances) {
          if (!instance.info.parent || instance.info.cancel_asked) continue;
          const auto parent = t.instances.find(instance.info.parent->incarnation);
          if (parent == t.instances.end() || !parent->second.info.cancel_asked) continue;
          rest.push_back({instance.info.instance, message::CancelInstance{.parent = instance.info.parent}});
        }
      });
      more = !rest.empty();
      (void)ForwardingProvider::enqueue_messages(rest);
    }
  }
};

class ACancelGoesDownInGeneralTerms final : public WrongDescent {
 public:
  using WrongDescent::WrongDescent;
  void spoil() override {
    tables([&](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) {
        if (is_target(instance) || !instance.cancel_place) continue;
        auto& queued = std::get<message::CancelInstance>(instance.inbox.at(*instance.cancel_place).body);
        queued.reason = "the parent was cancelled";
      }
    });
  }
};

/// Looks for children by the id of their parent.
class ACancelReachesTheChildrenOfANamesake final : public WrongDescent {
 public:
  using WrongDescent::WrongDescent;
  void prepare() override {
    tables([&](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) {
        auto& parent = instance.info.parent;
        if (parent && t.names.contains(parent->instance)) parent->incarnation = t.names.at(parent->instance);
      }
    });
  }
};

class AWeakerCancelStopsAStrongerOne final : public WrongDescent {
 public:
  using WrongDescent::WrongDescent;
  void prepare() override {
    tables([&](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) {
        if (instance.info.cancel_asked && !is_target(instance))
          instance.info.cancel_asked = CancelMode::terminate;
      }
    });
  }
};

class ACancelOfAClientGoesDown final : public WrongDescent {
 public:
  using WrongDescent::WrongDescent;
  void spoil() override {
    tables([&](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) {
        if (!instance.info.parent) continue;
        const auto parent = t.instances.find(instance.info.parent->incarnation);
        if (parent != t.instances.end()) instance.info.cancel_asked = parent->second.info.cancel_asked;
      }
    });
  }
};

constexpr Mutant mutants[] = {
    {"a_cancel_stays_with_its_target", "A cancel from a parent reaches only the instance that it names.",
     "a_cancel_from_a_parent_goes_down_the_tree", make_mutant<ACancelStaysWithItsTarget>},
    {"a_cancel_passes_through_graceful_instances", "An instance that cleans up loses its children at once.",
     "a_graceful_cancel_stops_at_a_graceful_instance_that_has_begun",
     make_mutant<ACancelPassesThroughGracefulInstances>},
    {"terminate_stops_at_graceful_instances", "The children of graceful code wait for its turn.",
     "terminate_goes_down_through_graceful_instances", make_mutant<TerminateStopsAtGracefulInstances>},
    {"a_cancel_goes_down_without_bound", "One call writes to all instances of a tree.",
     "a_cancel_goes_down_to_a_bounded_number_and_turns_reach_the_rest",
     make_mutant<ACancelGoesDownWithoutBound>},
    {"a_cancel_goes_down_in_general_terms", "The reason of a cancel is lost on its way down.",
     "a_cancel_that_goes_down_keeps_its_words", make_mutant<ACancelGoesDownInGeneralTerms>},
    {"a_cancel_reaches_the_children_of_a_namesake", "Children are found by the id of their parent.",
     "a_cancel_goes_down_only_to_the_children_of_that_incarnation",
     make_mutant<ACancelReachesTheChildrenOfANamesake>},
    {"a_weaker_cancel_stops_a_stronger_one", "Instances that were asked before are left out.",
     "a_stronger_cancel_goes_down_after_a_weaker_one", make_mutant<AWeakerCancelStopsAStrongerOne>},
    {"a_cancel_of_a_client_goes_down", "The children are cancelled before their parent has decided.",
     "a_cancel_of_a_client_is_passed_on_by_turns", make_mutant<ACancelOfAClientGoesDown>},
};

}  // namespace

std::span<const Mutant> cancel_descent_mutants() { return mutants; }

}  // namespace duramen::testing
