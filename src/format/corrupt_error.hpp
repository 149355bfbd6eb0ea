// The error for content that cannot be understood: says where it stands and what is wrong.
#pragma once

#include <duramen/history.hpp>
#include <duramen/result.hpp>

#include <string_view>

namespace duramen::format {

/// "instance 'order-1', execution 1, event 5 (TimerFired): field 'fire_at_ms' is missing". No id, no type:
/// left out.
[[nodiscard]] Error corrupt_event(std::string_view operation, const EventContext& where, EventId id,
                                  std::string_view type, std::string_view problem);

/// "work item TimerFired for instance 'order-1': field 'fire_at_ms' is missing".
[[nodiscard]] Error corrupt_message(std::string_view operation, const InstanceId& target,
                                    std::string_view type, std::string_view problem);

}  // namespace duramen::format
