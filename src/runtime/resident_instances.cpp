#include "runtime/resident_instances.hpp"

#include "base/check.hpp"

namespace duramen::inline v0::runtime {

ResidentInstances::Slot* ResidentInstances::find(const InstanceId& instance) {
  const auto found = slots_.find(instance);
  return found == slots_.end() ? nullptr : &found->second;
}

ResidentInstances::Slot& ResidentInstances::use(const InstanceId& instance) {
  auto [at, fresh] = slots_.try_emplace(instance);
  Slot& slot = at->second;
  if (fresh) {
    slot.recent_ = recent_.insert(recent_.end(), instance);
  } else {
    touch(slot);
  }
  return slot;
}

void ResidentInstances::begin_turn(Slot& slot) noexcept {
  if (slot.busy_) return;
  slot.busy_ = true;
  ++busy_;
}

void ResidentInstances::end_turn(Slot& slot) noexcept {
  if (!slot.busy_) return;
  slot.busy_ = false;
  --busy_;
}

void ResidentInstances::remove(const InstanceId& instance) {
  const auto found = slots_.find(instance);
  if (found == slots_.end()) return;
  DURAMEN_CHECK(!found->second.busy_);
  recent_.erase(found->second.recent_);
  slots_.erase(found);
}

void ResidentInstances::evict() {
  for (auto at = recent_.begin(); at != recent_.end() && slots_.size() - busy_ > max_resident_;) {
    const auto found = slots_.find(*at);
    if (found->second.busy_) {
      ++at;
    } else {
      slots_.erase(found);
      at = recent_.erase(at);
    }
  }
}

}  // namespace duramen::inline v0::runtime
