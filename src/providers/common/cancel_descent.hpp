// A cancel that goes down a tree of instances: the call that stores it for a child stores it for the child's
// own descendants, too, as far as their cancels need no code.
#pragma once

#include <duramen/ids.hpp>
#include <duramen/message.hpp>

#include <cstddef>
#include <utility>

namespace duramen::inline v0::providers {

/// One call looks at this many descendants at most. Turns pass the cancel on to the others.
inline constexpr std::size_t max_cancel_descent = 1024;

/// A cancel that was stored for an instance and goes on to its children.
struct DescendingCancel {
  Incarnation parent;
  message::CancelInstance cancel;
};

/// The same cancel for a child, which `link` names.
[[nodiscard]] inline message::CancelInstance cancel_of_child(const message::CancelInstance& of_parent,
                                                             ParentLink link) {
  return {.reason = of_parent.reason,
          .mode = of_parent.mode,
          .origin = CancelOrigin::parent,
          .parent = std::move(link),
          .requested_by = of_parent.requested_by};
}

}  // namespace duramen::inline v0::providers
