// Back from history to the world: the messages that an inbound event was made from.
#pragma once

#include "core/execution.hpp"
#include <duramen/history.hpp>
#include <duramen/message.hpp>

#include <vector>

namespace duramen::core_test {

/// Throws std::logic_error for an event that no message makes.
[[nodiscard]] std::vector<MessageBody> messages_behind(const Event& event,
                                                       const core::ExecutionIdentity& identity);

}  // namespace duramen::core_test
