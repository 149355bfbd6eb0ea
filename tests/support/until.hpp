// Waits for a condition that other threads or processes make true.
#pragma once

#include "support/signal.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

namespace duramen::test {

/// Checks `holds` until it is true and calls `again` after every failed check. Only a broken test reaches
/// the time limit.
inline void until(const std::function<bool()>& holds, const std::function<void()>& again = [] {}) {
  const auto end = std::chrono::steady_clock::now() + forever;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << "the condition stayed false";
      return;
    }
    again();
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

}  // namespace duramen::test
