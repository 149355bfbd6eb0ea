// scale: the cost of a store call beside much that the call does not want, as a multiple of its cost in an
// empty store.
//
// Nothing is synced here: the wait for the disk would hide the cost.

#include "bench/bench_store.hpp"
#include "bench/measure.hpp"
#include "bench/workload.hpp"
#include "bench/workloads/backlog.hpp"
#include "bench/workloads/hello_turns.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace dm = duramen;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t batch = 1000;
constexpr std::size_t rounds = 200;
constexpr double bar = 1.5;
constexpr double snapshot_bar_ms = 2;

/// A store that does not wait for the disk.
std::unique_ptr<BenchStore> unsynced(const Scene& scene, const HelloTurns& turns) {
  return scene.stores.make_with_finished(turns, 1);
}

dm::StartRequest start_of(const std::string& id, const char* orchestration) {
  dm::StartRequest request;
  request.instance = id;
  request.start.orchestration = orchestration;
  request.start.input = dm::Payload::none();
  return request;
}

void start_many(dm::Provider& provider, const char* orchestration, std::size_t count) {
  std::vector<dm::StartRequest> requests;
  for (std::size_t i = 0; i < count; ++i) {
    requests.push_back(start_of(std::string(orchestration) + "-" + std::to_string(i), orchestration));
    if (requests.size() < batch && i + 1 < count) continue;
    (void)provider.start_instances(requests).value();
    requests.clear();
  }
}

void send_many(dm::Provider& provider, const dm::InstanceId& target, std::size_t count) {
  std::vector<dm::OutboundMessage> messages;
  for (std::size_t i = 0; i < count; ++i) {
    messages.push_back({.target = target, .body = dm::message::QueueMessage{"mail", dm::Payload::text("x")}});
    if (messages.size() < batch && i + 1 < count) continue;
    (void)provider.enqueue_messages(messages).value();
    messages.clear();
  }
}

/// A fetch of a node that has these orchestrations, of three versions each.
dm::TurnFetch fetch_of(std::size_t names) {
  dm::TurnFetch fetch{.node = "bench", .lease = 30s};
  fetch.orchestrations.emplace();
  for (std::size_t i = 0; i < names; ++i) {
    fetch.orchestrations->push_back({"own-" + std::to_string(i), {"1.0.0", "1.1.0", "2.0.0"}});
  }
  return fetch;
}

void fetch_nothing(dm::Provider& provider, const dm::TurnFetch& fetch) {
  if (!provider.fetch_turns(fetch).value().items.empty())
    throw std::runtime_error("scale: an empty fetch was expected");
}

/// A commit that begins the first execution of an instance, from its start message.
dm::TurnCommit first_turn(const dm::LeasedInstance& leased) {
  static std::uint64_t token = 1u << 20u;
  dm::TurnCommit commit;
  commit.token = dm::CommitToken{++token};
  commit.node = "bench";
  commit.instance = leased.instance;
  commit.incarnation = leased.incarnation;
  commit.basis = dm::HeldLease::all_of(leased);
  commit.execution = dm::ExecutionId{1};
  dm::event::OrchestrationStarted started;
  started.name = leased.name;
  started.version = "1.0.0";
  commit.events = {{dm::EventId{1}, {}, {}, std::move(started)}};
  commit.change.version = "1.0.0";
  return commit;
}

/// A commit that only deletes the fetched messages.
dm::TurnCommit no_events(const dm::LeasedInstance& leased) {
  dm::TurnCommit commit = first_turn(leased);
  commit.events.clear();
  commit.change.version.reset();
  return commit;
}

/// Begins the only instance that can be fetched.
dm::LeasedInstance begin_only(dm::Provider& provider, const dm::TurnFetch& fetch,
                              const std::function<void(dm::TurnCommit&)>& change) {
  auto leased = provider.fetch_turns(fetch).value().items;
  if (leased.size() != 1) throw std::runtime_error("scale: one instance was expected");
  dm::TurnCommit commit = first_turn(leased[0]);
  change(commit);
  (void)commit_all(provider, {commit});
  return std::move(leased[0]);
}

/// One comparison: the same call on two stores, in turn.
class BesideEmpty {
 public:
  using Call = std::function<void(dm::Provider&)>;

  BesideEmpty(Scene& scene, std::string name, std::size_t size)
      : scene_(scene), name_(std::move(name)), size_(size) {}

  void run(dm::Provider& empty, dm::Provider& full, const Call& call) {
    std::vector<double> before;
    std::vector<double> after;
    for (std::size_t round = 0; round < rounds; ++round) {
      before.push_back(nanoseconds_of(call, empty));
      after.push_back(nanoseconds_of(call, full));
    }
    const double base = median(before);
    const double each = median(after);
    scene_.report.add(Figure{.workload = "scale",
                             .figure = name_,
                             .size = size_,
                             .runs = rounds,
                             .per_second = 1e9 / each,
                             .ns_each = each,
                             .growth = each / base});
    scene_.judge_at_most("scale: " + name_ + ": times the cost in an empty store", each / base, bar);
  }

 private:
  static double nanoseconds_of(const Call& call, dm::Provider& provider) {
    const Instant began = now();
    call(provider);
    return 1e6 * milliseconds_between(began, now());
  }

  Scene& scene_;
  const std::string name_;
  const std::size_t size_;
};

// -- the scenes -----------------------------------------------------------------------------------

/// Pending instances of a name that the node does not have.
void beside_unregistered(Scene& scene, const HelloTurns& turns, std::size_t count) {
  const auto empty = unsynced(scene, turns);
  const auto full = unsynced(scene, turns);
  start_many(*full->provider(), "elsewhere", count);
  for (const std::size_t names : {1, 50}) {
    const dm::TurnFetch fetch = fetch_of(names);
    BesideEmpty(scene, "fetch beside an unregistered name, " + std::to_string(names) + " registered", count)
        .run(*empty->provider(), *full->provider(),
             [&](dm::Provider& provider) { fetch_nothing(provider, fetch); });
  }
}

/// One actor with a large inbox, leased elsewhere.
void beside_hot_actor(Scene& scene, const HelloTurns& turns, std::size_t count) {
  const auto empty = unsynced(scene, turns);
  const auto full = unsynced(scene, turns);
  start_many(*full->provider(), "own-0", 1);
  dm::TurnFetch fetch = fetch_of(1);
  fetch.lease = 1h;
  if (full->provider()->fetch_turns(fetch).value().items.size() != 1)
    throw std::runtime_error("scale: one instance was expected");
  send_many(*full->provider(), "own-0-0", count);
  BesideEmpty(scene, "fetch beside a leased actor with messages", count)
      .run(*empty->provider(), *full->provider(),
           [&](dm::Provider& provider) { fetch_nothing(provider, fetch); });
}

/// Waiting activities of other tags and of other sessions.
void beside_other_activities(Scene& scene, const HelloTurns& turns, std::size_t count, bool sessions) {
  const auto empty = unsynced(scene, turns);
  const auto full = unsynced(scene, turns);
  std::uint64_t made = 0;
  for (std::size_t instance = 0; made < count; ++instance) {
    const dm::StartRequest request = start_of("many-" + std::to_string(instance), "own-0");
    (void)full->provider()->start_instances({&request, 1}).value();
    (void)begin_only(*full->provider(), fetch_of(1), [&](dm::TurnCommit& commit) {
      for (std::size_t i = 0; i < batch && made < count; ++i, ++made) {
        dm::ActivityRequest activity;
        activity.instance = commit.instance;
        activity.key = {commit.incarnation, dm::ExecutionId{1}, dm::EventId{2 + i}};
        activity.name = "work";
        activity.input = dm::Payload::none();
        if (sessions)
          activity.session_id = "session-" + std::to_string(made);
        else
          activity.tag = "gpu";
        commit.new_activities.push_back({std::move(activity), {}});
      }
    });
  }
  const dm::ActivityFetch fetch{
      .node = "bench", .lease = 30s, .names = std::vector<std::string>{"work"}, .tags = {}, .sessions = {}};
  BesideEmpty(scene,
              sessions ? "fetch beside activities of sessions" : "fetch beside activities of other tags",
              count)
      .run(*empty->provider(), *full->provider(), [&](dm::Provider& provider) {
        if (!provider.fetch_activities(fetch).value().items.empty())
          throw std::runtime_error("scale: an empty fetch was expected");
      });
}

/// A held commit of an instance that has many timers for later.
void beside_future_timers(Scene& scene, const HelloTurns& turns, std::size_t count) {
  const auto empty = unsynced(scene, turns);
  const auto full = unsynced(scene, turns);
  const dm::TurnFetch fetch = fetch_of(1);
  for (const auto& store : {empty.get(), full.get()}) {
    start_many(*store->provider(), "own-0", 1);
    (void)begin_only(*store->provider(), fetch, [&](dm::TurnCommit& commit) {
      const dm::TimePoint later = store->provider()->clock().now() + 24h;
      for (std::size_t i = 0; store == full.get() && i < count; ++i) {
        const dm::EventId event{2 + i};
        commit.messages.push_back({.target = commit.instance,
                                   .body = dm::message::TimerFired{dm::ExecutionId{1}, event, later},
                                   .visible_at = later});
      }
    });
  }
  BesideEmpty(scene, "one message to an instance with future timers", count)
      .run(*empty->provider(), *full->provider(), [&](dm::Provider& provider) {
        send_many(provider, "own-0-0", 1);
        const auto leased = provider.fetch_turns(fetch).value().items;
        if (leased.size() != 1) throw std::runtime_error("scale: one instance was expected");
        (void)commit_all(provider, {no_events(leased[0])});
      });
}

/// An empty fetch under a snapshot that has seen many messages pass.
void under_old_snapshot(Scene& scene, const HelloTurns& turns, std::size_t count) {
  const auto store = unsynced(scene, turns);
  dm::Provider& provider = *store->provider();
  const std::shared_ptr<void> snapshot = store->hold_snapshot();
  if (!snapshot) return;
  dm::TurnFetch fetch = fetch_of(1);
  fetch.limit = batch;
  start_many(provider, "own-0", batch);
  std::vector<dm::TurnCommit> commits;
  for (const auto& leased : provider.fetch_turns(fetch).value().items) commits.push_back(first_turn(leased));
  (void)commit_all(provider, commits);
  for (std::size_t passed = 0; passed < count; passed += batch) {
    std::vector<dm::OutboundMessage> messages;
    for (std::size_t i = 0; i < batch; ++i) {
      messages.push_back({.target = "own-0-" + std::to_string(i),
                          .body = dm::message::QueueMessage{"mail", dm::Payload::text("x")}});
    }
    (void)provider.enqueue_messages(messages).value();
    commits.clear();
    for (const auto& leased : provider.fetch_turns(fetch).value().items) commits.push_back(no_events(leased));
    (void)commit_all(provider, commits);
    if (passed % (100 * batch) == 0) scene.progress("scale: " + std::to_string(passed) + " messages passed");
  }
  std::vector<double> milliseconds;
  for (std::size_t round = 0; round < rounds; ++round) {
    const Instant began = now();
    fetch_nothing(provider, fetch);
    milliseconds.push_back(milliseconds_between(began, now()));
  }
  const double each = median(milliseconds);
  scene.report.add(Figure{.workload = "scale",
                          .figure = "empty fetch under an old snapshot",
                          .size = count,
                          .runs = rounds,
                          .per_second = 1e3 / each,
                          .ns_each = 1e6 * each});
  scene.judge_at_most("scale: empty fetch under an old snapshot: ms", each, snapshot_bar_ms);
}

}  // namespace

void run_scale(Scene& scene) {
  const HelloTurns turns;
  const std::size_t most = scene.arguments.count.value_or(1'000'000);
  scene.progress("scale: beside an unregistered name");
  beside_unregistered(scene, turns, std::min<std::size_t>(most, 500'000));
  scene.progress("scale: beside a hot actor");
  beside_hot_actor(scene, turns, std::min<std::size_t>(most, 100'000));
  scene.progress("scale: beside other activities");
  beside_other_activities(scene, turns, std::min<std::size_t>(most, 100'000), false);
  beside_other_activities(scene, turns, std::min<std::size_t>(most, 100'000), true);
  scene.progress("scale: beside future timers");
  beside_future_timers(scene, turns, std::min<std::size_t>(most, 100'000));
  take_backlogs(scene, turns, most);
  if (scene.arguments.on_postgres()) under_old_snapshot(scene, turns, most);
}

}  // namespace bench
