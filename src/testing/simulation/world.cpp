#include "testing/simulation/world.hpp"

#include <algorithm>

namespace duramen::inline v0::testing {

namespace {

constexpr std::uint64_t max_steps = 5'000'000;
constexpr std::uint64_t longest_outage_ms = 3000;
// How long the wall clock may be wrong by hours or days.
constexpr std::uint64_t longest_wall_error_ms = 120'000;

Duration ms(std::uint64_t count) { return Duration{static_cast<Duration::rep>(count)}; }

}  // namespace

Simulation::World::World(Registry registry, SimulationOptions options)
    : options_(std::move(options)),
      registry_(std::move(registry)),
      random_(options_.seed, 0),
      ledger_(clock_, violations_),
      attempts_(clock_),
      memory_(std::make_shared<MemoryProvider>(
          clock_,
          MemoryOptions{.seed = options_.seed, .store_id = "simulation-" + std::to_string(options_.seed)})),
      store_(std::make_shared<AuditedStore>(
          options_.wrap_store ? options_.wrap_store(memory_) : std::shared_ptr<Provider>(memory_), ledger_,
          options_.max_messages_per_fetch)),
      client_(clock_, SeededRandom(options_.seed, 1)),
      client_store_(store_, [this](const ProviderCall&, std::uint64_t) { return random_fault(); }) {
  report_.seed = options_.seed;
}

Simulation::World::~World() {
  for (const auto& node : nodes_) {
    node->env.kill();
    node->env.drop_jobs();
    node->runtime.reset();
  }
}

// -- nodes ------------------------------------------

void Simulation::World::add_node() {
  if (closing_) return;
  const std::uint64_t number = ++nodes_made_;
  auto node = std::make_unique<SimulatedNode>(clock_, SeededRandom(options_.seed, 1 + number));
  SimulatedNode& made = *node;
  made.id = NodeId("node-" + std::to_string(number));
  std::shared_ptr<Provider> seen = std::make_shared<FaultyProvider>(
      store_, [this, &made](const ProviderCall& call, std::uint64_t) { return decide(made, call); });
  if (options_.wrap_node) seen = options_.wrap_node(std::move(seen));
  made.store.emplace(std::move(seen));

  RuntimeOptions runtime = options_.runtime;
  if (options_.change_node) options_.change_node(number, runtime);
  runtime.node = made.id;
  runtime.log = [this, id = made.id](const LogRecord& record) {
    std::string text(record.message);
    for (const LogField& field : record.fields) text += " " + std::string(field.key) + "=" + field.value;
    note(id.value, to_string(record.level), text);
  };
  made.runtime = std::make_unique<runtime::Node>(made.env, *made.store, attempts_.watched(registry_, made.id),
                                                 std::move(runtime));
  for (const Start& start : starts_) listen(made, start.request.instance);
  nodes_.push_back(std::move(node));
  note(made.id.value, "begins");
  made.runtime->run();
}

/// From now on no call of the node reaches the store, even if its code still runs until the job returns.
void Simulation::World::kill(SimulatedNode& node, std::string_view when) {
  node.env.kill();
  ++report_.crashes;
  note(node.id.value, "dies", when);
}

void Simulation::World::remove_dead_nodes() {
  for (std::size_t i = 0; i < nodes_.size();) {
    if (!nodes_[i]->env.dead()) {
      ++i;
      continue;
    }
    const auto node = std::move(nodes_[i]);
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(i));
    attempts_.node_died(node->id);
    node->env.drop_jobs();
    node->runtime.reset();
    client_.loop().post_at(clock_.lease_now() + ms(random_.below(longest_outage_ms)), [this] { add_node(); });
  }
}

/// Decides the fault of a node's call to the store, and advances the clock by its duration.
Fault Simulation::World::decide(SimulatedNode& node, const ProviderCall& call) {
  if (node.env.dead()) return Fault::error;
  if (random_.below(4) == 0) clock_.advance(ms(1 + random_.below(3)));
  note(node.id.value, call.operation);
  if (call.changes) {
    ++report_.boundaries;
    const bool chosen = options_.crash_at && options_.crash_at->boundary == report_.boundaries;
    const bool unlucky =
        !calm_ && report_.crashes < options_.max_crashes && random_.chance(options_.crash_rate);
    if (chosen || unlucky) {
      const bool after = chosen ? options_.crash_at->after : random_.coin();
      kill(node, after ? "after its call" : "before its call");
      return after ? Fault::lost_answer : Fault::error;
    }
  }
  return random_fault();
}

Fault Simulation::World::random_fault() {
  if (calm_ || !random_.chance(options_.fault_rate)) return Fault::none;
  ++report_.faults;
  const Fault fault = random_.coin() ? Fault::error : Fault::lost_answer;
  note("store", fault == Fault::error ? "does not answer" : "loses its answer");
  return fault;
}

// -- time ------------------------------------------

/// Runs one job, or advances time until there is one. False if no job will ever come.
bool Simulation::World::step() {
  const std::size_t client_jobs = client_.runnable();
  std::size_t jobs = client_jobs;
  for (const auto& node : nodes_) jobs += node->env.runnable();
  if (jobs == 0) return advance_to_next_timer();

  ++report_.steps;
  std::size_t chosen = random_.below(jobs);
  if (chosen < client_jobs) {
    note("client", client_.run(chosen));
  } else {
    chosen -= client_jobs;
    for (const auto& node : nodes_) {
      const std::size_t own = node->env.runnable();
      if (chosen < own) {
        note(node->id.value, node->env.run(chosen));
        break;
      }
      chosen -= own;
    }
  }
  if (random_.below(8) == 0) clock_.advance(ms(1 + random_.below(4)));
  if (!calm_) disturb();
  remove_dead_nodes();
  return true;
}

bool Simulation::World::advance_to_next_timer() {
  std::optional<LeaseTime> next = client_.next_timer();
  for (const auto& node : nodes_) {
    const auto own = node->env.next_timer();
    if (own && (!next || *own < *next)) next = own;
  }
  if (!next) return false;
  clock_.advance(std::max(*next - clock_.lease_now(), Duration::zero()));
  return true;
}

void Simulation::World::disturb() {
  if (random_.chance(options_.stall_rate)) {
    if (SimulatedNode* node = random_node()) {
      const Duration pause =
          ms(random_.below(static_cast<std::uint64_t>(2 * options_.runtime.activity_lease.count())));
      node->env.stall(clock_.lease_now() + pause);
      note(node->id.value, "stands still");
    }
  }
  if (random_.chance(options_.wall_jump_rate)) set_wall_clock();
  if (report_.crashes < options_.max_crashes && random_.chance(options_.crash_rate / 10)) {
    if (SimulatedNode* node = random_node()) kill(*node, "between two jobs");
  }
}

/// A small difference stays; a large one is noticed, and the clock is set right.
void Simulation::World::set_wall_clock() {
  if (wall_error_ != Duration{}) return;
  constexpr Duration farthest[] = {std::chrono::minutes{1}, std::chrono::hours{12}, std::chrono::days{3}};
  const std::size_t scale = random_.below(std::size(farthest));
  const Duration by =
      ms(random_.below(static_cast<std::uint64_t>(2 * farthest[scale].count() + 1))) - farthest[scale];
  clock_.jump_wall(by);
  note("clock", "is set", std::to_string(by.count()));
  if (scale == 0) return;
  wall_error_ = by;
  client_.loop().post_at(clock_.lease_now() + ms(1 + random_.below(longest_wall_error_ms)),
                         [this] { set_wall_clock_right(); });
}

void Simulation::World::set_wall_clock_right() {
  clock_.jump_wall(-std::exchange(wall_error_, Duration{}));
  note("clock", "is set right");
}

Simulation::World::SimulatedNode* Simulation::World::random_node() {
  return nodes_.empty() ? nullptr : nodes_[random_.below(nodes_.size())].get();
}

void Simulation::World::note(std::string_view who, std::string_view what, std::string_view detail) {
  const auto mix = [this](std::uint64_t value) {
    report_.fingerprint = (report_.fingerprint ^ value) * 0x100000001B3U;
  };
  mix(static_cast<std::uint64_t>(clock_.lease_now().time_since_epoch().count()));
  for (const std::string_view part : {who, what, detail}) {
    for (const char c : part) mix(static_cast<unsigned char>(c));
  }
  if (!options_.trace) return;
  std::string line = std::to_string(clock_.lease_now().time_since_epoch().count()) + " ";
  line.append(who).append(" ").append(what);
  if (!detail.empty()) line.append(": ").append(detail);
  report_.trace.push_back(std::move(line));
}

// -- a run ------------------------------------------

SimulationReport Simulation::World::run() {
  const LeaseTime began = clock_.lease_now();
  for (std::size_t i = 0; i < options_.nodes; ++i) {
    if (options_.backlog == Duration{}) {
      add_node();
    } else {
      client_.loop().post_at(began + options_.backlog, [this] { add_node(); });
    }
  }
  work();
  settle_down();
  check_all();
  shut_down();
  check_nothing_left();
  report_.virtual_time = clock_.lease_now() - began;
  report_.violations = violations_.list();
  return report_;
}

void Simulation::World::work() {
  const LeaseTime deadline = clock_.lease_now() + options_.deadline;
  while (unsettled_ > 0 || !ledger_.open().empty()) {
    if (clock_.lease_now() >= deadline) return;
    if (report_.steps >= max_steps) return violations_.add("the simulation does not finish");
    if (!step()) return;
  }
}

/// No more faults. Cancelled attempts that still run must be stopped now.
void Simulation::World::settle_down() {
  calm_ = true;
  set_wall_clock_right();
  const LeaseTime until = clock_.lease_now() + 5 * options_.runtime.activity_lease;
  while (attempts_.running() && clock_.lease_now() < until && report_.steps < max_steps) {
    if (!step()) return;
  }
}

void Simulation::World::shut_down() {
  closing_ = true;
  if (!attempts_.running()) {
    const LeaseTime until = clock_.lease_now() + 5 * options_.runtime.activity_lease;
    for (const auto& node : nodes_)
      node->runtime->shut_down(Duration{1000}, [&node = *node] { node.drained = true; });
    const auto drained = [](const auto& node) { return node->drained; };
    while (!std::ranges::all_of(nodes_, drained) && clock_.lease_now() < until && step()) {
    }
    for (const auto& node : nodes_) {
      if (!node->drained) violations_.add(node->id.value + " does not finish its shutdown");
    }
  }
  for (const auto& node : nodes_) {
    node->env.kill();
    attempts_.node_died(node->id);
    node->env.drop_jobs();
    node->runtime.reset();
  }
  nodes_.clear();
}

}  // namespace duramen::inline v0::testing
