// The engine as the checker sees it, so that a test can put a wrong one in its place.
#pragma once

#include "core/execution.hpp"
#include "core/turn.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace duramen::core_test::property {

/// The purpose of an execution.
enum class Role : std::uint8_t {
  live,      ///< kept from turn to turn
  replayed,  ///< new for one turn
  behind,    ///< kept, but has missed turns
  prefix,    ///< new, runs on from the middle of a history
  changed,   ///< new, with other code than the history was made by
};

struct Subject {
  core::ExecutionIdentity identity;
  std::shared_ptr<const OrchestrationHandler> handler;
  core::ExecutionOptions options;
};

class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;
  [[nodiscard]] virtual core::TurnOutcome run_turn(const core::TurnInput& input) = 0;
  [[nodiscard]] virtual EventId last_event_id() const = 0;
};

using EngineFactory = std::function<std::unique_ptr<Engine>(const Subject&, Role)>;

/// The engine that ships.
class RealEngine : public Engine {
 public:
  explicit RealEngine(const Subject& subject)
      : execution_(subject.identity, subject.handler, subject.options) {}
  core::TurnOutcome run_turn(const core::TurnInput& input) override { return execution_.run_turn(input); }
  EventId last_event_id() const override { return execution_.last_event_id(); }

 private:
  core::Execution execution_;
};

[[nodiscard]] inline std::unique_ptr<Engine> real_engine(const Subject& subject, Role /*unused*/) {
  return std::make_unique<RealEngine>(subject);
}

}  // namespace duramen::core_test::property
