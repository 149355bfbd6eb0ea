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

class DeletingChecksTheRootAlone final : public WrongProvider {
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

class DeletingNeedsNoForce final : public WrongProvider {
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

class HoldersDoNotLearnOfADeletion final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<DeleteResult>> delete_instances(Ids instances, DeleteMode mode) override {
    auto results = ForwardingProvider::delete_instances(instances, mode);
    tables([](MemoryTables& t) { t.tombstones.clear(); });
    return results;
  }
};

class ALateTurnRecreatesADeletedInstance final : public WrongProvider {
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

class AnyNodeIdIsAccepted final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<void> write_node(const NodeRecord& record) override {
    std::ignore = ForwardingProvider::write_node(record);
    return {};
  }
};

class AStoreHasNoId final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  [[nodiscard]] std::string_view store_id() const noexcept override { return {}; }
};

constexpr Mutant mutants[] = {
    {"any_node_id_is_accepted", "A node id may be any bytes.", "a_node_id_is_a_name",
     make_mutant<AnyNodeIdIsAccepted>},
    {"a_store_has_no_id", "A store has no id: keys of two stores are equal.", "a_store_has_an_id",
     make_mutant<AStoreHasNoId>},
    {"deleting_leaves_activities", "Worker rows stay when their instance is deleted.",
     "a_forced_deletion_cancels_held_activities_with_the_reason", make_mutant<DeletingLeavesActivities>},
    {"deleting_leaves_children", "Only the instance itself is deleted.",
     "a_tree_is_deleted_whole_and_only_from_its_root", make_mutant<DeletingLeavesChildren>},
    {"deleting_checks_the_root_alone", "A tree is deleted although a descendant is running.",
     "a_running_descendant_prevents_the_deletion_of_its_root", make_mutant<DeletingChecksTheRootAlone>},
    {"deleting_needs_no_force", "A running instance is deleted without force.",
     "a_running_instance_is_deleted_only_by_force", make_mutant<DeletingNeedsNoForce>},
    {"children_can_be_deleted_alone", "A child is deleted and its parent never gets an answer.",
     "deleting_a_root_deletes_its_unlisted_children", make_mutant<ChildrenCanBeDeletedAlone>},
    {"holders_do_not_learn_of_a_deletion",
     "The holder of an activity of a deleted instance receives no reason.",
     "a_forced_deletion_cancels_held_activities_with_the_reason", make_mutant<HoldersDoNotLearnOfADeletion>},
    {"a_late_turn_recreates_a_deleted_instance", "A turn of a deleted instance creates it again.",
     "a_late_turn_does_not_recreate_a_deleted_instance", make_mutant<ALateTurnRecreatesADeletedInstance>},
    {"pruning_takes_the_current_execution", "keep_last = 0 deletes the current execution.",
     "the_current_execution_is_never_pruned", make_mutant<PruningTakesTheCurrentExecution>},
    {"pruning_takes_key_values", "Key-values of pruned executions are deleted.",
     "keys_of_pruned_executions_stay", make_mutant<PruningTakesKeyValues>},
    {"either_part_prunes", "An execution is pruned if one of two conditions holds.",
     "executions_are_pruned_by_count_by_time_or_by_both", make_mutant<EitherPartPrunes>},
    {"pages_skip_one", "A page begins one instance too late.", "pages_show_every_instance_exactly_once",
     make_mutant<PagesSkipOne>},
    {"pages_go_by_count", "A page skips a number of instances instead of continuing after the last one.",
     "pages_stay_correct_while_instances_are_added_and_deleted", make_mutant<PagesGoByCount>},
    {"a_prefix_ignores_case", "Ids are compared as some databases compare text.", "a_prefix_is_not_a_pattern",
     make_mutant<APrefixIgnoresCase>},
    {"lists_carry_results", "Outputs are listed without a request.", "results_are_listed_only_on_request",
     make_mutant<ListsCarryResults>},
    {"children_come_before_parents", "A tree lists children before their parents.",
     "a_tree_contains_the_instance_and_all_descendants", make_mutant<ChildrenComeBeforeParents>},
    {"timers_are_counted_as_due", "A message for later is counted as due.",
     "queue_depths_separate_due_later_and_leased_messages", make_mutant<TimersAreCountedAsDue>},
    {"held_messages_are_counted_as_due", "Messages of a running turn are counted as due.",
     "queue_depths_separate_due_later_and_leased_messages", make_mutant<HeldMessagesAreCountedAsDue>},
    {"only_current_executions_are_counted", "Earlier executions are not counted.",
     "metrics_count_instances_by_status_executions_and_events", make_mutant<OnlyCurrentExecutionsAreCounted>},
    {"counts_begin_with_the_last_again", "A part begins with the last instance of the part before.",
     "instances_counted_in_parts_add_up", make_mutant<CountsBeginWithTheLastAgain>},
    {"a_gap_ends_the_count", "A count ends where an instance was deleted.",
     "instances_counted_in_parts_add_up", make_mutant<AGapEndsTheCount>},
    {"counts_go_by_number", "A part skips a number of instances instead of continuing after the last one.",
     "counts_stay_correct_while_instances_are_added_and_deleted", make_mutant<CountsGoByNumber>},
};

}  // namespace

std::span<const Mutant> management_mutants() { return mutants; }

}  // namespace duramen::testing
