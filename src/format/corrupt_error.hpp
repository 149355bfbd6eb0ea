// The error for content that cannot be interpreted: names its place and the problem.
#pragma once

#include <duramen/history.hpp>
#include <duramen/result.hpp>

#include <string_view>

namespace duramen::format {

/// "instance 'order-1', execution 1, event 5 (TimerFired): field 'fire_at_ms' is missing". A missing id or
/// type is left out.
[[nodiscard]] Error corrupt_event(std::string_view operation, const EventContext& where, EventId id,
                                  std::string_view type, std::string_view problem);

/// "message TimerFired for instance 'order-1': field 'fire_at_ms' is missing".
[[nodiscard]] Error corrupt_message(std::string_view operation, const InstanceId& target,
                                    std::string_view type, std::string_view problem);

}  // namespace duramen::format
