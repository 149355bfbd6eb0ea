// Wrong about what is handed out to those who run turns.
#include "mutants/mutant.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace duramen::testing {
namespace {

using Batch = Result<TurnBatch>;

class AHeldInstanceIsHandedOut final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Batch fetch_turns(const TurnFetch& request) override {
    tables([](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) instance.lease = {};
    });
    return ForwardingProvider::fetch_turns(request);
  }
};

class AnyEngineWillDo final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Batch fetch_turns(const TurnFetch& request) override {
    TurnFetch changed = request;
    changed.min_engine_version = 0;
    changed.max_engine_version = std::numeric_limits<std::uint32_t>::max();
    return ForwardingProvider::fetch_turns(changed);
  }
};

class AnyVersionWillDo final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Batch fetch_turns(const TurnFetch& request) override {
    TurnFetch changed = request;
    if (changed.orchestrations) {
      for (auto& known : *changed.orchestrations) known.versions.clear();
    }
    return ForwardingProvider::fetch_turns(changed);
  }
};

class AnyCodeWillDo final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Batch fetch_turns(const TurnFetch& request) override {
    TurnFetch changed = request;
    changed.orchestrations.reset();
    return ForwardingProvider::fetch_turns(changed);
  }
};

class WhatIsSkippedFillsTheLimit final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Batch fetch_turns(const TurnFetch& request) override {
    TurnFetch all = request;
    all.orchestrations.reset();
    TurnBatch batch = ForwardingProvider::fetch_turns(all).value();
    std::erase_if(batch.items, [&](const LeasedInstance& item) {
      const auto known = [&](const auto& o) { return o.name == item.name; };
      if (!request.orchestrations || std::ranges::any_of(*request.orchestrations, known)) return false;
      const TurnRelease back{{item.incarnation, item.lease}, {}, false};
      (void)inner().release_turns({&back, 1});
      return true;
    });
    return batch;
  }
};

class NothingIsEverDue final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Batch fetch_turns(const TurnFetch& request) override {
    auto batch = ForwardingProvider::fetch_turns(request);
    batch->next_due.reset();
    return batch;
  }
};

class TheEndOfALeaseIsNotDue final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Batch fetch_turns(const TurnFetch& request) override {
    auto batch = ForwardingProvider::fetch_turns(request);
    tables([&](MemoryTables& t) {
      for (const auto& [incarnation, instance] : t.instances) {
        if (instance.lease) batch->next_due.reset();
      }
    });
    return batch;
  }
};

class AttemptsOfTurnsAreForgotten final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Batch fetch_turns(const TurnFetch& request) override {
    tables([](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) {
        for (auto& [position, message] : instance.inbox) message.attempts = 0;
      }
    });
    return ForwardingProvider::fetch_turns(request);
  }
};

class SecondAttemptsOfTurnsComeWithOthers final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Batch fetch_turns(const TurnFetch& request) override {
    std::map<Incarnation, std::uint32_t> before;
    tables([&](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) {
        for (auto& [position, message] : instance.inbox) {
          before[incarnation] = std::max(before[incarnation], std::exchange(message.attempts, 0));
        }
      }
    });
    auto batch = ForwardingProvider::fetch_turns(request);
    for (auto& item : batch->items) item.attempt += before[item.incarnation];
    tables([&](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) {
        for (auto& [position, message] : instance.inbox) message.attempts += before[incarnation];
      }
    });
    return batch;
  }
};

class InstancesComeByName final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Batch fetch_turns(const TurnFetch& request) override {
    TurnFetch all = request;
    all.limit = 1000;
    TurnBatch batch = ForwardingProvider::fetch_turns(all).value();
    std::ranges::sort(batch.items, {}, &LeasedInstance::instance);
    while (batch.items.size() > request.limit) {
      const TurnRelease back{{batch.items.back().incarnation, batch.items.back().lease}, {}, false};
      (void)inner().release_turns({&back, 1});
      batch.items.pop_back();
    }
    return batch;
  }
};

class ADelayLetsOthersOvertake final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Batch fetch_turns(const TurnFetch& request) override {
    auto batch = ForwardingProvider::fetch_turns(request);
    for (auto& item : batch->items) {
      std::ranges::sort(item.messages, {}, &InboxMessage::attempt);
    }
    return batch;
  }
};

constexpr Mutant mutants[] = {
    {"a_held_instance_is_handed_out", "A lease does not keep others away.", "test_exclusive_instance_lock",
     make_mutant<AHeldInstanceIsHandedOut>},
    {"any_engine_will_do", "The range of engine versions is ignored.",
     "test_fetch_with_incompatible_filter_skips_item", make_mutant<AnyEngineWillDo>},
    {"any_version_will_do", "Only the name of the code counts.", "a_resolved_version_must_be_registered",
     make_mutant<AnyVersionWillDo>},
    {"any_code_will_do", "Names are ignored.", "fetch_takes_only_registered_names",
     make_mutant<AnyCodeWillDo>},
    {"what_is_skipped_fills_the_limit", "The filter is applied to the first few alone.",
     "a_skipped_instance_fills_no_limit", make_mutant<WhatIsSkippedFillsTheLimit>},
    {"nothing_is_ever_due", "A fetch does not say when to come again.",
     "next_due_is_the_earliest_waiting_message", make_mutant<NothingIsEverDue>},
    {"the_end_of_a_lease_is_not_due", "A fetch does not say when a held instance may be had.",
     "the_end_of_a_held_lease_is_due", make_mutant<TheEndOfALeaseIsNotDue>},
    {"attempts_of_turns_are_forgotten", "Every delivery is the first.",
     "orchestration_attempt_count_increments_on_refetch", make_mutant<AttemptsOfTurnsAreForgotten>},
    {"second_attempts_of_turns_come_with_others",
     "An instance that may have crashed a node is handed out with its neighbours.",
     "a_second_attempt_is_fetched_alone", make_mutant<SecondAttemptsOfTurnsComeWithOthers>},
    {"instances_come_by_name", "Not who waits longest comes first.",
     "the_longest_waiting_instance_comes_first", make_mutant<InstancesComeByName>},
    {"a_delay_lets_others_overtake", "What arrives during a delay is delivered before what was delayed.",
     "abandon_with_a_delay_holds_back_and_keeps_order", make_mutant<ADelayLetsOthersOvertake>},
};

}  // namespace

std::span<const Mutant> fetch_mutants() { return mutants; }

}  // namespace duramen::testing
