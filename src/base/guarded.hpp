// Wrappers for user code that is called where nothing catches: on the loops, on a store's threads, from
// callbacks of C libraries. They stop its exceptions.
#pragma once

#include <duramen/log.hpp>

#include <atomic>
#include <string_view>

namespace duramen::base {

/// Reports the first exception of one piece of user code to standard error, and swallows all. Any thread.
class Swallowed {
 public:
  /// `whose` names the code in the report; static storage.
  explicit Swallowed(std::string_view whose) noexcept : whose_(whose) {}
  /// Call it in a catch block.
  void operator()() noexcept;

 private:
  const std::string_view whose_;
  std::atomic<bool> reported_{false};
};

/// `sink` without its exceptions; an empty sink stays empty.
[[nodiscard]] LogSink guarded(LogSink sink);

}  // namespace duramen::base
