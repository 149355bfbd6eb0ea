// Checks of an instance's history that hold after every kind of trouble.
#pragma once

#include <duramen/client.hpp>
#include <duramen/history.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <string_view>
#include <variant>

namespace duramen::test {

/// The history holds `steps` activity completions, one for each activity, and one end of the instance.
inline void expect_each_step_once(Client& client, const InstanceId& instance, int steps) {
  std::map<EventId, int> completions;
  int ends = 0;
  for (const Event& event : client.read_history(instance).value()) {
    if (std::holds_alternative<event::ActivityCompleted>(event.body)) ++completions[event.source];
    if (event_class(event) == EventClass::terminal) ++ends;
  }
  EXPECT_EQ(completions.size(), static_cast<std::size_t>(steps)) << instance.value;
  for (const auto& [source, times] : completions)
    EXPECT_EQ(times, 1) << instance.value << ", activity " << source.value;
  EXPECT_EQ(ends, 1) << instance.value;
}

/// The number of events of this JSON type in the history.
inline std::size_t count_events(Client& client, const InstanceId& instance, std::string_view type) {
  std::size_t n = 0;
  for (const Event& event : client.read_history(instance).value()) n += event_type(event) == type ? 1 : 0;
  return n;
}

}  // namespace duramen::test
