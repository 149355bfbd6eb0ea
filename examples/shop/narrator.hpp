// Tells what happens while it happens.
#pragma once

#include "ledger.hpp"
#include "terminal.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace shop {

/// Thrown when somebody has pressed Ctrl-C.
struct Interrupted {};

/// Prints what the activities write into the ledger, and what it is told to say, with the time since it was
/// made.
class Narrator {
 public:
  /// Takes care of Ctrl-C from now on. `terminal` and `ledger` must outlive it. `progress` says how far we
  /// are.
  Narrator(Terminal& terminal, const Ledger& ledger, std::function<std::string()> progress);

  void say(const std::string& text, Colour colour = Colour::plain) const;
  void say_of(const std::string& order, const std::string& text) const;

  /// Goes on telling until something has come true. Throws Interrupted, or if it has not come true in a
  /// minute.
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
