// Prints events while they happen.
#pragma once

#include "ledger.hpp"
#include "terminal.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace shop {

/// Thrown after Ctrl-C.
struct Interrupted {};

/// Prints the activities' lines in the ledger, and other lines, with the time since its construction.
class Narrator {
 public:
  /// Handles Ctrl-C from now on. `terminal` and `ledger` must outlive it. `progress` returns the current
  /// progress.
  Narrator(Terminal& terminal, const Ledger& ledger, std::function<std::string()> progress);

  void say(const std::string& text, Colour colour = Colour::plain) const;
  void say_of(const std::string& order, const std::string& text) const;

  /// Prints until the condition holds. Throws Interrupted, or after a minute.
  void tell_until(const std::function<bool()>& come_true);
  void tell_for(std::chrono::milliseconds time);

 private:
  void tell_news();
  void tell(const Entry& entry) const;
  [[nodiscard]] std::string stamp(std::chrono::milliseconds time) const;

  Terminal& terminal_;
  const Ledger& ledger_;
  const std::function<std::string()> progress_;
  const std::chrono::milliseconds begin_;
  std::size_t told_ = 0;
};

}  // namespace shop
