// Drives one core::Execution turn by turn, without a store, a clock or a thread: the cost of the engine
// alone.
#pragma once

#include "core/execution.hpp"
#include <duramen/history.hpp>
#include <duramen/message.hpp>
#include <duramen/registry.hpp>

#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

using OrchestrationCode = std::shared_ptr<const duramen::OrchestrationHandler>;

/// The handler of an execution: `f` is a coroutine that takes an int, the amount of work.
template <class F>
[[nodiscard]] OrchestrationCode as_code(F f) {
  duramen::Registry registry;
  registry.add("Subject", std::move(f));
  return registry.find_orchestration("Subject", std::nullopt);
}

/// A resident execution. Its turns count as committed.
class CoreSubject {
 public:
  explicit CoreSubject(const OrchestrationCode& code);

  /// The first turn.
  duramen::core::TurnOutcome start(std::size_t size);
  duramen::core::TurnOutcome deliver(std::span<const duramen::MessageBody> messages);
  duramen::core::TurnOutcome deliver(const duramen::MessageBody& message) { return deliver({&message, 1}); }
  duramen::core::TurnOutcome replay(std::span<const duramen::Event> history);

 private:
  duramen::core::Execution execution_;
};

/// Every activity returns 1.
[[nodiscard]] duramen::MessageBody completion_of(duramen::EventId activity);

/// The event that record_history() raises, and the one it never raises.
inline constexpr std::string_view answered_event = "go";
inline constexpr std::string_view unanswered_event = "never";

/// Runs the code with one message per turn and answers every request until it waits for `unanswered_event`.
[[nodiscard]] std::vector<duramen::Event> record_history(const OrchestrationCode& code, std::size_t size);

}  // namespace bench
