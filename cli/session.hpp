// What a command has at hand: what was asked for in general, a place to hand answers to, and an open store.
#pragma once

#include "answer.hpp"
#include "arguments.hpp"
#include "terminal.hpp"
#include <duramen/client.hpp>
#include <duramen/store.hpp>

#include <functional>
#include <string>

namespace duramen::cli {

struct Context {
  const Globals& globals;
  Terminal terminal;
  /// For commands that answer bit by bit: shows this part now. False: nobody reads any more.
  std::function<bool(const Answer&)> emit;
};

struct Session {
  Context& context;
  Store store;
  Client client{store};

  [[nodiscard]] Provider& provider() { return *store.provider(); }
  [[nodiscard]] TimePoint now() { return provider().clock().now(); }
};

/// Asks before something is destroyed. True: go on. False: the answer was no. An error if nobody can be
/// asked.
[[nodiscard]] Result<bool> confirm(const Context& context, const std::string& question);
/// What a command answers when the user said no.
[[nodiscard]] Answer left_alone();

}  // namespace duramen::cli
