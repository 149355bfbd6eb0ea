// Runs orchestrations through years and disasters in milliseconds.
//
// A simulation is the real engine, the real runtime and the memory provider on one thread, under a virtual
// clock. A seed decides everything random: the next job, the duration of a call, when a node dies, stalls or
// loses the store's answer. The same seed gives the same run, event for event, so every failure can be
// reproduced.
//
//   Simulation simulation(registry, {.seed = seed, .nodes = 2, .crash_rate = 0.02, .fault_rate = 0.05});
//   simulation.start("order-1", "checkout", order);
//   simulation.cancel("order-1", "changed my mind", 3s);
//   const SimulationReport report = simulation.run();
//   EXPECT_TRUE(report.ok()) << report.describe();
//
// After every run it checks invariants: no acknowledged start is lost; every instance has ended, once, or
// waits for something that can still happen; announced states are stored states; each schedule completes at
// most once, with a result accepted from its lease holder; no lease is held twice; a cancelled activity is
// notified, with the reason; every event and queue message reaches its instance once, in the order in which
// the store accepted them; nothing is left behind; the same code replays every kept history, including those
// of ended instances, and ends in the same way. The test itself checks the outputs.
//
// Activities run on the simulation's thread: a function must not block; a coroutine sleeps in virtual time.
#pragma once

#include <duramen/activity.hpp>
#include <duramen/client.hpp>
#include <duramen/provider.hpp>
#include <duramen/registry.hpp>
#include <duramen/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace duramen::inline v0::testing {

/// One chosen crash: a node dies at the store's `boundary`-th change.
struct CrashPoint {
  std::uint64_t boundary = 1;  ///< counted from 1 over all nodes
  /// False: the call is not made. True: it is made, and its answer is lost.
  bool after = false;
};

/// The default runtime options of nodes.
[[nodiscard]] inline RuntimeOptions simulated_runtime() {
  RuntimeOptions options;
  options.activity_lease = std::chrono::seconds{30};
  options.turn_lease = std::chrono::seconds{10};
  options.poll_interval = std::chrono::seconds{5};
  return options;
}

struct SimulationOptions {
  std::uint64_t seed = 1;
  std::size_t nodes = 1;

  /// The chance, at each change of the store, that the node making it dies before or after it; and a tenth of
  /// it between any two jobs. A new node replaces it.
  double crash_rate = 0;
  /// Limits crashes, so that nodes make progress.
  std::size_t max_crashes = 8;
  std::optional<CrashPoint> crash_at = std::nullopt;
  /// The chance that a call to the store fails, before it is made or by losing its answer.
  double fault_rate = 0;
  /// The chance, per job, that a node stalls for up to two leases: a paused machine, a slow disk.
  double stall_rate = 0;
  /// The chance, per job, that the wall clock is set forward or back: by up to a minute, or by hours or days
  /// until it is set right again a little later.
  double wall_jump_rate = 0;
  /// Nodes begin only after this time: what clients send until then piles up.
  Duration backlog{};
  /// If not 0: a node receives at most this many messages of an instance at a time.
  std::size_t max_messages_per_fetch = 0;

  /// Maximum virtual time of a run. An instance that has not ended by then must wait for something that can
  /// still happen.
  Duration deadline = std::chrono::hours{24 * 366};
  /// Used by every node. The simulation sets node id and log.
  RuntimeOptions runtime = simulated_runtime();
  /// Changes the options of one node. `number` counts the nodes from 1, with those that replace dead ones.
  std::function<void(std::uint64_t number, RuntimeOptions& options)> change_node;
  bool trace = false;  ///< keep a line for every step

  /// Plants a bug so that a test can check that it is found: wraps the provider that all nodes share, or each
  /// node's own view of it.
  std::function<std::shared_ptr<Provider>(std::shared_ptr<Provider>)> wrap_store;
  std::function<std::shared_ptr<Provider>(std::shared_ptr<Provider>)> wrap_node;
};

/// One attempt at an activity.
struct ActivityAttempt {
  NodeId node;
  InstanceId instance;
  /// Without incarnation: an activity does not know it.
  ActivityKey key;
  std::string name;
  std::uint32_t attempt = 1;
  LeaseTime began;
  /// Absent: still running, or lost with its node.
  std::optional<LeaseTime> ended;
  bool node_died = false;            ///< its node died while it ran
  std::optional<LeaseTime> stopped;  ///< when its stop token fired
  StopCause cause = StopCause::none;
  std::optional<CancelReason> reason;
};

/// The results of a run.
struct SimulationReport {
  std::uint64_t seed = 0;
  std::vector<std::string> violations;
  Duration virtual_time{};
  std::uint64_t steps = 0;       ///< jobs run
  std::uint64_t boundaries = 0;  ///< store changes that nodes requested
  std::uint64_t crashes = 0;
  std::uint64_t faults = 0;
  /// A hash of all steps in order; equal for equal runs.
  std::uint64_t fingerprint = 0;
  std::vector<std::string> trace;

  /// True if no invariant was violated.
  [[nodiscard]] bool ok() const noexcept { return violations.empty(); }
  /// The violations and how to reproduce them, for people.
  [[nodiscard]] std::string describe() const;
};

/// One run. Describe the actions of clients, call run(), then check the results.
class Simulation {
 public:
  explicit Simulation(Registry registry, SimulationOptions options = {});
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// A client requests this start after the delay `after`, and repeats it until it is acknowledged: through a
  /// node in its own process or directly from the store, as the seed decides.
  template <class In>
  void start(InstanceId instance, std::string_view orchestration, const In& input, Duration after = {}) {
    start_payload(std::move(instance), orchestration, encode_payload(input), after);
  }
  void start(InstanceId instance, std::string_view orchestration) {
    start_payload(std::move(instance), orchestration, Payload::none(), {});
  }
  /// A client cancels. If it finds no instance, it tries again.
  void cancel(InstanceId instance, std::string reason, Duration after = {},
              CancelMode mode = CancelMode::graceful);

  /// A client sends an event, or a message to a queue, and repeats it until it is acknowledged. Messages to
  /// one instance are sent one after the other, in order of their due times; they may arrive before the
  /// instance exists.
  template <class T>
  void raise_event(InstanceId instance, std::string name, const T& data, Duration after = {}) {
    send(std::move(instance), message::ExternalRaised{std::move(name), encode_payload(data)}, after);
  }
  template <class T>
  void enqueue_event(InstanceId instance, std::string queue, const T& data, Duration after = {}) {
    send(std::move(instance), message::QueueMessage{std::move(queue), encode_payload(data)}, after);
  }

  /// Runs until all requests are done and every instance has ended, or until the deadline. Call it once.
  [[nodiscard]] SimulationReport run();

  /// The contents of the store; callable before, between and after.
  [[nodiscard]] std::optional<InstanceInfo> instance(const InstanceId& instance) const;
  [[nodiscard]] std::vector<Event> history(const InstanceId& instance) const;
  [[nodiscard]] std::vector<ActivityAttempt> attempts() const;

 private:
  void start_payload(InstanceId instance, std::string_view orchestration, Payload input, Duration after);
  void send(InstanceId instance, MessageBody item, Duration after);
  class World;
  std::unique_ptr<World> world_;
};

/// The seeds a test should run: `count` of them from `first`, or only the one in the environment variable
/// DURAMEN_SIMULATION_SEED if that is set.
[[nodiscard]] std::vector<std::uint64_t> simulation_seeds(std::uint64_t first, std::size_t count);

}  // namespace duramen::inline v0::testing
