// What a history says about what its instance still waits for, and what it gave up.
#pragma once

#include <duramen/explanation.hpp>
#include <duramen/history.hpp>

#include <optional>
#include <span>
#include <vector>

namespace duramen::inline v0::client {

struct HistoryScan {
  /// Scheduled and not yet answered, oldest first; without words. A timer that was dropped leaves no trace in
  /// history, so these may hold some that will never fire.
  std::vector<Waiting> open;
  std::vector<CancelledStep> cancelled;
  std::optional<CancelRequest> cancel_request;  ///< the last one, which is the one that counts
  std::optional<ParentLink> parent;
};

[[nodiscard]] HistoryScan read_steps(std::span<const Event> history);

}  // namespace duramen::inline v0::client
