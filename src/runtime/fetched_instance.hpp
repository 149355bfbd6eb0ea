// Questions about an instance as a fetch returned it.
#pragma once

#include "core/execution.hpp"
#include <duramen/provider.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace duramen::inline v0::runtime {

/// The code that an instance needs.
struct CodeName {
  std::string orchestration;
  std::optional<std::string> version;
};

/// True if the next turn begins an execution: there is no history of it yet.
[[nodiscard]] bool is_fresh(const LeasedInstance& leased);

/// The message that begins an execution names its code. Later the store's row does.
[[nodiscard]] CodeName code_for(const LeasedInstance& leased);

/// The execution of the next turn. A message that continues as new begins the one after the store's.
[[nodiscard]] core::ExecutionIdentity identity_of(const LeasedInstance& leased);

/// Moves the message that begins the execution to the front: every history begins with its start. The store
/// orders messages by wall time, so a clock that was set back puts later messages first. Returns false if the
/// beginning is not visible yet.
[[nodiscard]] bool put_beginning_first(LeasedInstance& leased);

/// True if a fetched cancel ends the instance without its code. `history`: of the last execution that has
/// begun.
[[nodiscard]] bool ends_without_code(const LeasedInstance& leased, std::span<const Event> history);

/// The lease of a commit that takes the messages with these indexes.
[[nodiscard]] HeldLease held_lease(const LeasedInstance& leased, std::span<const std::size_t> taken);

/// Moves the bodies out of the messages.
[[nodiscard]] std::vector<MessageBody> take_bodies(LeasedInstance& leased);

/// True if a message of this type is among the fetched ones.
template <class Body>
[[nodiscard]] bool holds(const LeasedInstance& leased) {
  return std::any_of(leased.messages.begin(), leased.messages.end(),
                     [](const InboxMessage& message) { return std::holds_alternative<Body>(message.body); });
}

}  // namespace duramen::inline v0::runtime
