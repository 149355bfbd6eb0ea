// Everything in a simulation: the store, its nodes, its clients, and the loop that runs them.
#pragma once

#include "runtime/node.hpp"
#include "store/local_hub.hpp"
#include "testing/simulation/attempts.hpp"
#include "testing/simulation/env.hpp"
#include "testing/simulation/ledger.hpp"
#include "testing/simulation/random.hpp"
#include "testing/simulation/store.hpp"
#include <duramen/testing/faulty_provider.hpp>
#include <duramen/testing/manual_clock.hpp>
#include <duramen/testing/memory_provider.hpp>
#include <duramen/testing/simulation.hpp>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace duramen::inline v0::testing {

class Simulation::World {
 public:
  World(Registry registry, SimulationOptions options);
  ~World();

  void add_start(StartRequest request, Duration after);
  void add_cancel(OutboundMessage message, Duration after);
  void add_message(OutboundMessage message, Duration after);
  [[nodiscard]] SimulationReport run();

  [[nodiscard]] MemoryProvider& memory() const noexcept { return *memory_; }
  [[nodiscard]] const AttemptLog& attempts() const noexcept { return attempts_; }

 private:
  /// One process with a runtime. Its memory dies with it.
  struct SimulatedNode {
    SimulatedNode(const Clock& clock, SeededRandom random) : env(clock, random) {}
    NodeId id;
    SimulatedEnv env;
    std::optional<Store> store;
    std::unique_ptr<runtime::Node> runtime;
    bool drained = false;
  };
  struct Start {
    StartRequest request;
    bool settled = false;
    bool acknowledged = false;
  };

  // world.cpp: nodes and time.
  void add_node();
  void kill(SimulatedNode& node, std::string_view when);
  void remove_dead_nodes();
  Fault decide(SimulatedNode& node, const ProviderCall& call);
  Fault random_fault();
  [[nodiscard]] bool step();
  bool advance_to_next_timer();
  void disturb();
  void set_wall_clock();
  void set_wall_clock_right();
  void work();
  void settle_down();
  void shut_down();
  void note(std::string_view who, std::string_view what, std::string_view detail = {});

  // clients.cpp.
  void try_start(std::size_t index);
  void start_settled(std::size_t index, const Result<StartOutcome>& outcome);
  void try_cancel(const OutboundMessage& message);
  void ask_store_to_cancel(const OutboundMessage& message);
  void cancel_settled(const OutboundMessage& message);
  void try_send(const InstanceId& target);
  void listen(SimulatedNode& node, const InstanceId& instance);
  [[nodiscard]] SimulatedNode* random_node();

  // checks.cpp: after the run.
  void check_all();
  void check_messages(const InstanceInfo& info);
  void check_waiting(const InstanceInfo& info, const std::vector<Event>& history);
  void check_end(const InstanceInfo& info, const std::vector<Event>& history);
  void check_replay(const InstanceInfo& info);
  void check_activities(const InstanceInfo& info, const std::vector<Event>& history);
  void check_nothing_left();

  // Fixed at construction.
  const SimulationOptions options_;
  const Registry registry_;

  ManualClock clock_;
  SeededRandom random_;
  Violations violations_;
  Ledger ledger_;
  AttemptLog attempts_;
  std::shared_ptr<MemoryProvider> memory_;
  // With the ledger, and with a planted bug if there is one.
  std::shared_ptr<Provider> store_;

  std::vector<std::unique_ptr<SimulatedNode>> nodes_;  // without dead ones
  std::uint64_t nodes_made_ = 0;
  Duration wall_error_{};  // until the wall clock is set right
  bool calm_ = false;      // no more faults
  bool closing_ = false;   // no more nodes

  SimulatedEnv client_;
  FaultyProvider client_store_;
  std::vector<Start> starts_;
  // The first message of each outbox is being sent.
  std::map<InstanceId, std::deque<OutboundMessage>> outboxes_;
  std::uint64_t messages_made_ = 0;
  std::size_t unsettled_ = 0;
  std::map<InstanceId, std::vector<detail::EndedInstance>> announced_;

  SimulationReport report_;
};

}  // namespace duramen::inline v0::testing
