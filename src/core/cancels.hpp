// Questions about a cancel before it is admitted.
#pragma once

#include <duramen/detail/mutant.hpp>
#include <duramen/history.hpp>
#include <duramen/message.hpp>

#include <optional>

namespace duramen::inline v0::core {

/// False if it comes from a parent that did not start the instance. `parent`: the instance's own.
[[nodiscard]] bool counts(const message::CancelInstance& cancel, const std::optional<ParentLink>& parent);

/// True if the cancel ends an execution without running its code.
[[nodiscard]] inline bool needs_no_code(const message::CancelInstance& cancel, bool graceful) {
  return !graceful || cancel.mode == CancelMode::terminate || detail::mutant("a_cancel_needs_no_code");
}

}  // namespace duramen::inline v0::core
