// Code that the user plugs in and that is called where nothing catches: on the loops, on a store's threads,
// from callbacks of C libraries. Its exceptions end here.
#pragma once

#include <duramen/log.hpp>

#include <atomic>
#include <string_view>

namespace duramen::base {

/// Reports the first exception of one such piece of code to standard error, and swallows all. Any thread.
class Swallowed {
 public:
  /// `whose`: as the report names it, in static storage.
  explicit Swallowed(std::string_view whose) noexcept : whose_(whose) {}
  /// In a catch block.
  void operator()() noexcept;

 private:
  const std::string_view whose_;
  std::atomic<bool> reported_{false};
};

/// `sink` without its exceptions; an empty one stays empty.
[[nodiscard]] LogSink guarded(LogSink sink);

}  // namespace duramen::base
