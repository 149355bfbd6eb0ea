// Wrong about the instances that a fetch returns.
#include "mutants/mutant.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace duramen::testing {
namespace {

using Batch = Result<TurnBatch>;

class AHeldInstanceIsFetched final : public WrongProvider {
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

class SkippedInstancesFillTheLimit final : public WrongProvider {
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
      for (auto& [incarnation, instance] : t.instances) instance.attempts = 0;
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
        before[incarnation] = std::exchange(instance.attempts, 0);
      }
    });
    auto batch = ForwardingProvider::fetch_turns(request);
    for (auto& item : batch->items) item.attempt += before[item.incarnation];
    tables([&](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) instance.attempts += before[incarnation];
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
      if (item.attempt > 1) std::ranges::reverse(item.messages);
    }
    return batch;
  }
};

constexpr Mutant mutants[] = {
    {"a_held_instance_is_fetched", "A leased instance can be fetched.",
     "an_instance_has_one_holder_until_the_lease_ends", make_mutant<AHeldInstanceIsFetched>},
    {"any_engine_will_do", "The range of engine versions is ignored.",
     "an_instance_of_an_unsupported_engine_version_is_skipped", make_mutant<AnyEngineWillDo>},
    {"any_version_will_do", "Only the name of the code counts.", "a_resolved_version_must_be_registered",
     make_mutant<AnyVersionWillDo>},
    {"any_code_will_do", "Names are ignored.", "only_instances_of_registered_names_are_fetched",
     make_mutant<AnyCodeWillDo>},
    {"skipped_instances_fill_the_limit", "The filter applies only to the first few instances.",
     "a_skipped_instance_does_not_count_against_the_limit", make_mutant<SkippedInstancesFillTheLimit>},
    {"nothing_is_ever_due", "A fetch does not return when to fetch again.", "next_due_is_the_earliest_timer",
     make_mutant<NothingIsEverDue>},
    {"the_end_of_a_lease_is_not_due", "A fetch does not return when a held lease ends.",
     "next_due_includes_the_end_of_a_held_lease", make_mutant<TheEndOfALeaseIsNotDue>},
    {"attempts_of_turns_are_forgotten", "Every delivery is the first.",
     "release_and_expiry_of_a_turn_count_as_attempts", make_mutant<AttemptsOfTurnsAreForgotten>},
    {"second_attempts_of_turns_come_with_others",
     "An instance that may have crashed a node is fetched with others.",
     "a_second_attempt_of_a_turn_is_fetched_alone", make_mutant<SecondAttemptsOfTurnsComeWithOthers>},
    {"instances_come_by_name", "Instances are fetched by id, not by waiting time.",
     "the_longest_waiting_instance_is_fetched_first", make_mutant<InstancesComeByName>},
    {"a_delay_lets_others_overtake",
     "A message that arrives during a delay is delivered before the delayed ones.",
     "a_release_with_a_delay_holds_back_the_instance_and_keeps_order", make_mutant<ADelayLetsOthersOvertake>},
};

}  // namespace

std::span<const Mutant> fetch_mutants() { return mutants; }

}  // namespace duramen::testing
