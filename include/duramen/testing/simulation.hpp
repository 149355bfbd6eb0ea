// Runs orchestrations through years and disasters in milliseconds.
//
// A simulation is the real engine, the real runtime and the memory provider on one thread, under a virtual
// clock. A seed decides everything that is left to chance: what runs next, how long a call takes, when a node
// dies, stands still or loses the store's answer. The same seed gives the same run, event for event, so a
// failure found once can be looked at for as long as it takes.
//
//   Simulation simulation(registry, {.seed = seed, .nodes = 2, .crash_rate = 0.02, .fault_rate = 0.05});
//   simulation.start("order-1", "checkout", order);
//   simulation.cancel("order-1", "changed my mind", 3s);
//   const SimulationReport report = simulation.run();
//   EXPECT_TRUE(report.ok()) << report.describe();
//
// After every run it checks what must hold whatever happened: no acknowledged start is lost; every instance
// has ended, once, or waits for something real; what was announced is what is stored; each schedule completes
// at most once, with a result accepted from whoever held it; no lease is held twice; a cancelled activity is
// told, and told why; every event and queue message reaches its instance once, in the order in which the
// store took them; nothing is left behind; the same code replays every history that was kept, also of
// instances that have ended, and comes to the same end. What the outputs must be is the test's own business.
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

/// One chosen crash: a node dies around the store's `boundary`-th change.
struct CrashPoint {
  std::uint64_t boundary = 1;  ///< counted from 1 over all nodes
  bool after = false;          ///< false: the call is not made; true: it is, and nobody hears the answer
};

/// What nodes run with unless a test says otherwise.
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

  /// The chance, at each change of the store, that the node making it dies before or after; and a tenth of it
  /// between any two jobs. A new node takes its place.
  double crash_rate = 0;
  std::size_t max_crashes = 8;  ///< so that the others get something done
  std::optional<CrashPoint> crash_at;
  /// The chance that a call to the store fails, before it is made or by losing its answer.
  double fault_rate = 0;
  /// The chance, per job, that a node stands still for up to two leases: a paused machine, a slow disk.
  double stall_rate = 0;
  /// The chance, per job, that somebody sets the wall clock, by up to a minute either way.
  double wall_jump_rate = 0;

  /// Virtual time a run may take. What has not ended by then must wait for something real.
  Duration deadline = std::chrono::hours{24 * 366};
  /// For every node. Node id and log are the simulation's own.
  RuntimeOptions runtime = simulated_runtime();
  bool trace = false;  ///< keep a line for everything that happens

  /// To plant a bug and see it found: wraps what all nodes share, or what each node sees of it.
  std::function<std::shared_ptr<Provider>(std::shared_ptr<Provider>)> wrap_store;
  std::function<std::shared_ptr<Provider>(std::shared_ptr<Provider>)> wrap_node;
};

/// One time an activity was run.
struct ActivityAttempt {
  NodeId node;
  InstanceId instance;
  ActivityKey key;  ///< its incarnation is not known to an activity and stays empty
  std::string name;
  std::uint32_t attempt = 1;
  LeaseTime began;
  std::optional<LeaseTime> ended;    ///< absent: still running, or gone with its node
  bool node_died = false;            ///< while it ran
  std::optional<LeaseTime> stopped;  ///< when its stop token fired
  StopCause cause = StopCause::none;
  std::optional<CancelReason> reason;
};

/// What a run found.
struct SimulationReport {
  std::uint64_t seed = 0;
  std::vector<std::string> violations;
  Duration virtual_time{};
  std::uint64_t steps = 0;       ///< jobs that were run
  std::uint64_t boundaries = 0;  ///< changes of the store that nodes asked for
  std::uint64_t crashes = 0;
  std::uint64_t faults = 0;
  std::uint64_t fingerprint = 0;  ///< of everything that happened, in order: equal for equal runs
  std::vector<std::string> trace;

  /// Nothing was violated.
  [[nodiscard]] bool ok() const noexcept { return violations.empty(); }
  /// For people: what went wrong, and how to see it again.
  [[nodiscard]] std::string describe() const;
};

/// One run. Say what clients do, then run() it, then look.
class Simulation {
 public:
  explicit Simulation(Registry registry, SimulationOptions options = {});
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// A client asks for this `after` some time, again and again until the start is acknowledged: of a node of
  /// its own process or straight from the store, as the seed has it.
  template <class In>
  void start(InstanceId instance, std::string_view orchestration, const In& input, Duration after = {}) {
    start_payload(std::move(instance), orchestration, encode_payload(input), after);
  }
  void start(InstanceId instance, std::string_view orchestration) {
    start_payload(std::move(instance), orchestration, Payload::none(), {});
  }
  /// A client cancels. One that finds no instance tries again.
  void cancel(InstanceId instance, std::string reason, Duration after = {},
              CancelMode mode = CancelMode::graceful);

  /// A client sends an event, or a message to a queue, to the instance: again and again until it is
  /// acknowledged. What goes to one instance is sent one after the other, in the order in which it is due; it
  /// may come before the instance exists.
  template <class T>
  void raise_event(InstanceId instance, std::string name, const T& data, Duration after = {}) {
    send(std::move(instance), message::ExternalRaised{std::move(name), encode_payload(data)}, after);
  }
  template <class T>
  void enqueue_event(InstanceId instance, std::string queue, const T& data, Duration after = {}) {
    send(std::move(instance), message::QueueMessage{std::move(queue), encode_payload(data)}, after);
  }

  /// Until everything that was asked for is done and every instance has ended, or the deadline. Called once.
  [[nodiscard]] SimulationReport run();

  /// What the store holds: before, between and after.
  [[nodiscard]] std::optional<InstanceInfo> instance(const InstanceId& instance) const;
  [[nodiscard]] std::vector<Event> history(const InstanceId& instance) const;
  [[nodiscard]] std::vector<ActivityAttempt> attempts() const;

 private:
  void start_payload(InstanceId instance, std::string_view orchestration, Payload input, Duration after);
  void send(InstanceId instance, MessageBody item, Duration after);
  class World;
  std::unique_ptr<World> world_;
};

/// The seeds a test should run: `count` of them from `first`, or, if the environment variable
/// DURAMEN_SIMULATION_SEED is set, only the one it names.
[[nodiscard]] std::vector<std::uint64_t> simulation_seeds(std::uint64_t first, std::size_t count);

}  // namespace duramen::inline v0::testing
