// Reads from a history what its instance still waits for, and what it cancelled.
#pragma once

#include <duramen/explanation.hpp>
#include <duramen/history.hpp>

#include <optional>
#include <span>
#include <vector>

namespace duramen::inline v0::client {

struct HistoryScan {
  /// Scheduled and not yet answered, oldest first; without texts. A dropped timer leaves no trace in history,
  /// so some timers may never fire.
  std::vector<Waiting> open;
  std::vector<CancelledStep> cancelled;
  std::optional<CancelRequest> cancel_request;  ///< the last one, which applies
  std::optional<ParentLink> parent;
};

[[nodiscard]] HistoryScan read_steps(std::span<const Event> history);

}  // namespace duramen::inline v0::client
