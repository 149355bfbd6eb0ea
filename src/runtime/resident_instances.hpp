// The instances that this node works on, each with the coroutine it keeps between turns (it is resident).
//
// The least recently used coroutines are dropped when there are too many. All on the loop.
#pragma once

#include "core/execution.hpp"
#include "runtime/activities.hpp"
#include <duramen/ids.hpp>
#include <duramen/provider.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace duramen::inline v0::runtime {

class ResidentInstances {
 public:
  class Slot {
   public:
    std::unique_ptr<core::Execution> execution;  ///< the resident coroutine, if there is one
    /// Of the commit that stored the last event of `execution`; none: unknown.
    CommitToken token;
    std::vector<FinishedActivity> finished;  ///< they wait for the turn under way
    std::optional<LeasedInstance> fetched;   ///< it waits for the turn under way

    /// A turn of the instance is being prepared or stored.
    [[nodiscard]] bool busy() const noexcept { return busy_; }

   private:
    friend class ResidentInstances;
    bool busy_ = false;
    std::list<InstanceId>::iterator recent_;
  };

  /// At most `max_resident` slots that are not busy stay.
  explicit ResidentInstances(std::size_t max_resident) : max_resident_(max_resident) {}

  [[nodiscard]] bool contains(const InstanceId& instance) const { return slots_.contains(instance); }
  /// Null if there is no slot. Does not count as a use.
  [[nodiscard]] Slot* find(const InstanceId& instance);
  /// The slot must exist.
  [[nodiscard]] Slot& at(const InstanceId& instance) { return slots_.at(instance); }
  /// Finds or makes the slot, as the most recently used one. A slot stays in its place in memory.
  Slot& use(const InstanceId& instance);
  void touch(Slot& slot) { recent_.splice(recent_.end(), recent_, slot.recent_); }

  void begin_turn(Slot& slot) noexcept;
  void end_turn(Slot& slot) noexcept;
  [[nodiscard]] std::size_t busy() const noexcept { return busy_; }
  [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }

  /// Removes the slot. It must not be busy.
  void remove(const InstanceId& instance);
  /// Removes the least recently used slots until at most `max_resident` rest. A busy slot stays.
  void evict();

 private:
  const std::size_t max_resident_;
  std::unordered_map<InstanceId, Slot> slots_;
  std::list<InstanceId> recent_;  // least recently used first
  std::size_t busy_ = 0;
};

}  // namespace duramen::inline v0::runtime
