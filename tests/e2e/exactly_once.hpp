// What must hold for an instance whatever happened around it.
#pragma once

#include <duramen/client.hpp>
#include <duramen/history.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <string>
#include <variant>

namespace duramen::test {

/// Its history holds the end of `steps` activities, of each of them once, and one end of its own.
inline void expect_each_step_once(Client& client, const std::string& id, int steps) {
  std::map<EventId, int> completions;
  int ends = 0;
  for (const Event& event : client.read_history(id).value()) {
    if (std::holds_alternative<event::ActivityCompleted>(event.body)) ++completions[event.source];
    if (event_class(event) == EventClass::terminal) ++ends;
  }
  EXPECT_EQ(completions.size(), static_cast<std::size_t>(steps)) << id;
  for (const auto& [source, times] : completions) EXPECT_EQ(times, 1) << id << ", activity " << source.value;
  EXPECT_EQ(ends, 1) << id;
}

}  // namespace duramen::test
