// The context of a command: the general options, a receiver of answers, and an open store.
#pragma once

#include "answer.hpp"
#include "arguments.hpp"
#include "terminal.hpp"
#include <duramen/client.hpp>
#include <duramen/store.hpp>

#include <functional>
#include <optional>
#include <string>

namespace duramen::cli {

struct Context {
  const Globals& globals;
  Terminal terminal;
  /// For commands that answer in parts: shows this part now. False: the output has no reader.
  std::function<bool(const Answer&)> emit;
};

struct Session {
  Context& context;
  Store store;
  std::optional<std::string> requested_by = std::nullopt;
  Client client{store, {.requested_by = requested_by}};

  [[nodiscard]] Provider& provider() { return *store.provider(); }
  [[nodiscard]] TimePoint now() { return provider().clock().now(); }
};

/// Asks before a destructive command. False: the user said no. An error without a terminal.
[[nodiscard]] Result<bool> confirm(const Context& context, const std::string& question);
/// The answer of a command after a no.
[[nodiscard]] Answer left_alone();

}  // namespace duramen::cli
