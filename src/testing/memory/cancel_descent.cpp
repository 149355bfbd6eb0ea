// A cancel from a parent goes down the tree: see providers/common/cancel_descent.hpp.
#include "providers/common/cancel_descent.hpp"

#include "testing/memory/state.hpp"

#include <map>
#include <utility>
#include <vector>

namespace duramen::inline v0::testing {

/// The last step of a call. Level by level, the youngest children of an instance first.
void MemoryState::descend() {
  if (notices.descending.empty()) return;
  std::vector<providers::DescendingCancel> level = std::exchange(notices.descending, {});
  std::multimap<Incarnation, Instance*> children;
  for (auto& [incarnation, instance] : instances) {
    if (instance.info.parent) children.emplace(instance.info.parent->incarnation, &instance);
  }
  std::size_t left = providers::max_cancel_descent;
  while (!level.empty()) {
    std::vector<providers::DescendingCancel> next;
    for (const auto& [incarnation, cancel] : level) {
      const Instance* parent = find(incarnation);
      if (!parent || !needs_no_code(*parent)) continue;
      const auto [first, last] = children.equal_range(incarnation);
      for (auto child = last; child != first && left > 0; --left) {
        Instance& target = *(--child)->second;
        auto passed = providers::cancel_of_child(cancel, *target.info.parent);
        if (refusal(passed, target)) continue;
        enqueue(target, passed);
        next.push_back({target.info.incarnation, std::move(passed)});
      }
    }
    level = std::move(next);
  }
}

}  // namespace duramen::inline v0::testing
