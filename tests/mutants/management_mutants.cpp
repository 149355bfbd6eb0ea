// Wrong about finding, counting, deleting and pruning.
#include "mutants/mutant.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace duramen::testing {
namespace {

using Ids = std::span<const InstanceId>;

class DeletingLeavesActivities final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<DeleteResult>> delete_instances(Ids instances, DeleteMode mode) override {
    std::map<ActivityKey, WorkRow> before;
    tables([&](MemoryTables& t) { before = t.work; });
    auto results = ForwardingProvider::delete_instances(instances, mode);
    tables([&](MemoryTables& t) { t.work = before; });
    return results;
  }
};

class DeletingLeavesChildren final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<DeleteResult>> delete_instances(Ids instances, DeleteMode mode) override {
    tables([&](MemoryTables& t) {
      for (const InstanceId& id : instances) {
        const auto name = t.names.find(id);
        if (name == t.names.end() || t.instances.at(name->second).info.parent) continue;
        for (auto& [incarnation, instance] : t.instances) instance.info.parent.reset();
      }
    });
    return ForwardingProvider::delete_instances(instances, mode);
  }
};

class DeletingLooksAtTheRootAlone final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<DeleteResult>> delete_instances(Ids instances, DeleteMode mode) override {
    std::vector<DeleteResult> results;
    for (const InstanceId& id : instances) {
      const auto info = inner().get_instance(id).value();
      const DeleteMode used = info && is_final(info->status) ? DeleteMode::force : mode;
      results.push_back(ForwardingProvider::delete_instances({&id, 1}, used).value()[0]);
    }
    return results;
  }
};

class DeletingAsksNobody final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<DeleteResult>> delete_instances(Ids instances, DeleteMode) override {
    return ForwardingProvider::delete_instances(instances, DeleteMode::force);
  }
};

class ChildrenCanBeDeletedAlone final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<DeleteResult>> delete_instances(Ids instances, DeleteMode mode) override {
    tables([&](MemoryTables& t) {
      for (const InstanceId& id : instances) {
        const auto name = t.names.find(id);
        if (name != t.names.end()) t.instances.at(name->second).info.parent.reset();
      }
    });
    return ForwardingProvider::delete_instances(instances, mode);
  }
};

class HoldersAreNotToldOfADeletion final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<DeleteResult>> delete_instances(Ids instances, DeleteMode mode) override {
    auto results = ForwardingProvider::delete_instances(instances, mode);
    tables([](MemoryTables& t) { t.tombstones.clear(); });
    return results;
  }
};

class ALateTurnBringsBackTheDeleted final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    for (const TurnCommit& commit : commits) {
      const StartRequest again{.instance = commit.instance, .start = {.orchestration = "Orch"}};
      if (!std::holds_alternative<FusedStart>(commit.basis)) (void)inner().start_instances({&again, 1});
    }
    return ForwardingProvider::commit_turns(commits, preempt);
  }
};

class PruningTakesTheCurrentExecution final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<PruneResult>> prune_executions(Ids instances, const PruneOptions& options) override {
    auto results = ForwardingProvider::prune_executions(instances, options);
    tables([&](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) {
        if (options.keep_last == 0u) instance.executions.erase(instance.info.execution);
      }
    });
    return results;
  }
};

class PruningTakesKeyValues final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<PruneResult>> prune_executions(Ids instances, const PruneOptions& options) override {
    auto results = ForwardingProvider::prune_executions(instances, options);
    tables([](MemoryTables& t) {
      for (auto& [incarnation, instance] : t.instances) {
        for (const auto& [key, value] : instance.settled) instance.key_values.erase(key);
      }
    });
    return results;
  }
};

class EitherPartPrunes final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<PruneResult>> prune_executions(Ids instances, const PruneOptions& options) override {
    PruneOptions changed = options;
    if (changed.keep_last) changed.ended_before.reset();
    return ForwardingProvider::prune_executions(instances, changed);
  }
};

class PagesSkipOne final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<InstancePage> list_instances(const InstanceQuery& query) override {
    auto page = ForwardingProvider::list_instances(query);
    if (query.after && !page->instances.empty()) page->instances.erase(page->instances.begin());
    return page;
  }
};

class PagesGoByCount final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<InstancePage> list_instances(const InstanceQuery& query) override {
    InstanceQuery all = query;
    all.after = {};
    all.limit = 1'000'000;
    InstancePage page = ForwardingProvider::list_instances(all).value();
    auto& list = page.instances;
    list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(
                                                std::min<std::uint64_t>(query.after.value, list.size())));
    if (list.size() > query.limit) {
      list.resize(query.limit);
      page.next = Incarnation{query.after.value + query.limit};
    }
    return page;
  }
};

class APrefixIgnoresCase final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<InstancePage> list_instances(const InstanceQuery& query) override {
    InstanceQuery all = query;
    all.filter.id_prefix.reset();
    InstancePage page = ForwardingProvider::list_instances(all).value();
    std::erase_if(page.instances, [&](const InstanceInfo& info) {
      const auto same = [](char a, char b) { return (a | 0x20) == (b | 0x20); };
      const std::string prefix = query.filter.id_prefix.value_or("");
      return prefix.size() > info.instance.value.size() ||
             !std::equal(prefix.begin(), prefix.end(), info.instance.value.begin(), same);
    });
    return page;
  }
};

class ListsCarryResults final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<InstancePage> list_instances(const InstanceQuery& query) override {
    InstanceQuery changed = query;
    changed.with_results = true;
    return ForwardingProvider::list_instances(changed);
  }
};

class ChildrenComeBeforeParents final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<InstanceInfo>> get_instance_tree(const InstanceId& root) override {
    auto tree = ForwardingProvider::get_instance_tree(root);
    std::ranges::reverse(*tree);
    return tree;
  }
};

class TimersAreCountedAsDue final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<QueueDepths> get_queue_depths() override {
    auto depths = ForwardingProvider::get_queue_depths();
    depths->orchestrator_due += std::exchange(depths->orchestrator_later, 0);
    return depths;
  }
};

class HeldMessagesAreCountedAsDue final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<QueueDepths> get_queue_depths() override {
    auto depths = ForwardingProvider::get_queue_depths();
    depths->orchestrator_due += std::exchange(depths->orchestrator_leased, 0);
    return depths;
  }
};

class OnlyCurrentExecutionsAreCounted final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<StoreMetrics> get_metrics() override {
    auto metrics = ForwardingProvider::get_metrics();
    metrics->executions = metrics->total_instances();
    return metrics;
  }
};

class CountsBeginWithTheLastAgain final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<InstanceCount> count_instances(Incarnation after, std::size_t limit) override {
    return ForwardingProvider::count_instances(after ? Incarnation{after.value - 1} : after, limit);
  }
};

class AGapEndsTheCount final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<InstanceCount> count_instances(Incarnation after, std::size_t limit) override {
    auto part = ForwardingProvider::count_instances(after, limit);
    if (part->next.value > after.value + limit) part->next = {};
    return part;
  }
};

class CountsGoByNumber final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<InstanceCount> count_instances(Incarnation after, std::size_t limit) override {
    if (!after) counted_ = 0;
    InstanceCount part;
    std::size_t place = 0;
    tables([&](MemoryTables& t) {
      for (const auto& [incarnation, instance] : t.instances) {
        if (place++ < counted_) continue;
        if (place > counted_ + limit) break;
        ++part.instances.at(static_cast<std::size_t>(instance.info.status));
        part.next = incarnation;
      }
      if (place <= counted_ + limit) part.next = {};
    });
    counted_ += limit;
    return part;
  }

 private:
  std::size_t counted_ = 0;
};

constexpr Mutant mutants[] = {
    {"deleting_leaves_activities", "Worker rows stay when their instance is deleted.",
     "test_orphan_activity_after_instance_force_deletion", make_mutant<DeletingLeavesActivities>},
    {"deleting_leaves_children", "Only the instance itself goes.", "test_cascade_delete_hierarchy",
     make_mutant<DeletingLeavesChildren>},
    {"deleting_looks_at_the_root_alone", "A tree goes although something in it goes on.",
     "a_running_child_keeps_its_root", make_mutant<DeletingLooksAtTheRootAlone>},
    {"deleting_asks_nobody", "What goes on is deleted without force.",
     "test_delete_running_rejected_force_succeeds", make_mutant<DeletingAsksNobody>},
    {"children_can_be_deleted_alone", "A child goes and its parent waits for ever.",
     "test_delete_instances_atomic_orphan_detection", make_mutant<ChildrenCanBeDeletedAlone>},
    {"holders_are_not_told_of_a_deletion", "Who runs an activity of a deleted instance is not told why.",
     "test_orphan_activity_after_instance_force_deletion", make_mutant<HoldersAreNotToldOfADeletion>},
    {"a_late_turn_brings_back_the_deleted", "A turn of a deleted instance creates it anew.",
     "test_force_delete_prevents_ack_recreation", make_mutant<ALateTurnBringsBackTheDeleted>},
    {"pruning_takes_the_current_execution", "Keeping none means none.", "test_prune_safety",
     make_mutant<PruningTakesTheCurrentExecution>},
    {"pruning_takes_key_values", "What pruned executions set goes with them.",
     "test_kv_prune_preserves_all_keys", make_mutant<PruningTakesKeyValues>},
    {"either_part_prunes", "An execution goes if one of two conditions holds.",
     "test_prune_options_combinations", make_mutant<EitherPartPrunes>},
    {"pages_skip_one", "A page begins one instance too late.", "pages_show_every_instance_once",
     make_mutant<PagesSkipOne>},
    {"pages_go_by_count", "A page goes on behind as many as were seen.",
     "pages_hold_while_instances_come_and_go", make_mutant<PagesGoByCount>},
    {"a_prefix_ignores_case", "Ids are compared as some databases compare text.", "a_prefix_is_not_a_pattern",
     make_mutant<APrefixIgnoresCase>},
    {"lists_carry_results", "Outputs are listed without being asked for.",
     "results_are_listed_only_when_asked_for", make_mutant<ListsCarryResults>},
    {"children_come_before_parents", "A tree is told from its leaves.", "test_delete_get_instance_tree",
     make_mutant<ChildrenComeBeforeParents>},
    {"timers_are_counted_as_due", "What waits for its time counts as waiting for a node.",
     "test_get_queue_depths", make_mutant<TimersAreCountedAsDue>},
    {"held_messages_are_counted_as_due", "A turn that runs counts as waiting.", "test_get_queue_depths",
     make_mutant<HeldMessagesAreCountedAsDue>},
    {"only_current_executions_are_counted", "Earlier executions are not counted.", "test_get_system_metrics",
     make_mutant<OnlyCurrentExecutionsAreCounted>},
    {"counts_begin_with_the_last_again", "A part begins with the last instance of the part before.",
     "instances_are_counted_in_parts", make_mutant<CountsBeginWithTheLastAgain>},
    {"a_gap_ends_the_count", "A count ends where an instance was deleted.", "instances_are_counted_in_parts",
     make_mutant<AGapEndsTheCount>},
    {"counts_go_by_number", "A part goes on behind as many as were counted.",
     "parts_hold_while_instances_come_and_go", make_mutant<CountsGoByNumber>},
};

}  // namespace

std::span<const Mutant> management_mutants() { return mutants; }

}  // namespace duramen::testing
