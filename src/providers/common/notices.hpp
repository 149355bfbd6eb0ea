// The changes of a call that listeners should know.
#pragma once

#include "providers/common/cancel_descent.hpp"
#include <duramen/provider.hpp>

#include <vector>

namespace duramen::inline v0::providers {

/// Collected during a transaction, sent to listeners after it.
struct Notices {
  /// Leases that the call took from other nodes.
  std::vector<StolenLease> stolen;
  bool turns_ready = false;
  bool activities_ready = false;
  std::vector<ChangedInstance> instances;
  /// Not for listeners: stored cancels from parents that the last step of the call passes on.
  std::vector<DescendingCancel> descending;

  [[nodiscard]] bool any() const noexcept {
    return !stolen.empty() || turns_ready || activities_ready || !instances.empty();
  }
};

}  // namespace duramen::inline v0::providers
