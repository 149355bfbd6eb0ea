#include <duramen/testing/simulation.hpp>

#include "testing/simulation/world.hpp"

#include <cstdlib>

namespace duramen::inline v0::testing {

Simulation::Simulation(Registry registry, SimulationOptions options)
    : world_(std::make_unique<World>(std::move(registry), std::move(options))) {}
Simulation::~Simulation() = default;

void Simulation::start_payload(InstanceId instance, std::string_view orchestration, Payload input,
                               Duration after) {
  StartRequest request;
  request.instance = std::move(instance);
  request.start.orchestration = orchestration;
  request.start.input = std::move(input);
  world_->add_start(std::move(request), after);
}

void Simulation::cancel(InstanceId instance, std::string reason, Duration after, CancelMode mode) {
  OutboundMessage message;
  message.target = std::move(instance);
  message.body = message::CancelInstance{std::move(reason), mode, CancelOrigin::client, {}};
  world_->add_cancel(std::move(message), after);
}

void Simulation::send(InstanceId instance, MessageBody item, Duration after) {
  OutboundMessage message;
  message.target = std::move(instance);
  message.body = std::move(item);
  world_->add_message(std::move(message), after);
}

SimulationReport Simulation::run() { return world_->run(); }

std::optional<InstanceInfo> Simulation::instance(const InstanceId& instance) const {
  return world_->memory().get_instance(instance).value();
}

std::vector<Event> Simulation::history(const InstanceId& instance) const {
  const auto info = this->instance(instance);
  if (!info) return {};
  return world_->memory().read_history(instance, info->execution, {}).value();
}

std::vector<ActivityAttempt> Simulation::attempts() const {
  const auto& all = world_->attempts().all();
  return {all.begin(), all.end()};
}

std::string SimulationReport::describe() const {
  std::string text = "simulation with seed " + std::to_string(seed) + ": " +
                     std::to_string(violations.size()) + " violations, " + std::to_string(steps) +
                     " steps, " + std::to_string(crashes) + " crashes, " + std::to_string(faults) +
                     " faults\n";
  for (const std::string& violation : violations) text += "  " + violation + "\n";
  text += "to repeat it: DURAMEN_SIMULATION_SEED=" + std::to_string(seed) +
          " ctest -R <this test> --output-on-failure; SimulationOptions::trace shows every step\n";
  for (const std::string& line : trace) text += "    " + line + "\n";
  return text;
}

std::vector<std::uint64_t> simulation_seeds(std::uint64_t first, std::size_t count) {
  if (const char* chosen = std::getenv("DURAMEN_SIMULATION_SEED"); chosen != nullptr && *chosen != '\0') {
    return {std::strtoull(chosen, nullptr, 10)};
  }
  std::vector<std::uint64_t> seeds(count);
  for (std::size_t i = 0; i < count; ++i) seeds[i] = first + i;
  return seeds;
}

}  // namespace duramen::inline v0::testing
