// growth: the cost of a fetch, a commit and a cancel in a store with few finished instances, and with very
// many.
//
// Nothing is synced here: the wait for the disk would hide the cost.

#include "bench/bench_store.hpp"
#include "bench/measure.hpp"
#include "bench/workload.hpp"
#include "bench/workloads/hello_turns.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

namespace dm = duramen;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t few = 1000;
constexpr std::size_t many_instances = 1'000'000;
constexpr double bar = 1.5;
constexpr std::size_t rounds = 400;

enum Cost : std::size_t { fetch, commit, cancel, costs };
constexpr std::array<const char*, costs> names{"fetch", "commit", "cancel"};

/// A store with `size` finished instances.
class FilledStore {
 public:
  FilledStore(const Scene& scene, const HelloTurns& turns, std::size_t size)
      : turns_(turns), size_(size), next_(10 * many_instances) {
    scene.progress("growth: " + std::to_string(size) + " finished instances");
    store_ = scene.stores.make_with_finished(turns, size);
    provider_ = store_->provider().get();
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const std::array<std::vector<double>, costs>& nanoseconds() const { return nanoseconds_; }

  /// Runs one instance through all three calls.
  void measure() {
    const std::uint64_t number = next_++;
    // Commit: its first turn, with an activity that then runs.
    const std::vector<dm::TurnCommit> first{turns_.first(number)};
    std::vector<dm::CommitResult> created;
    timed(commit, [&] { created = commit_all(*provider_, first); });

    // Cancel: requested, fetched, and committed with the stolen lease of the activity.
    const dm::OutboundMessage request{.target = first[0].instance,
                                      .body = dm::message::CancelInstance{.reason = "bench"}};
    dm::TurnBatch batch;
    double cancelled = nanoseconds_of([&] { (void)provider_->enqueue_messages({&request, 1}).value(); });
    timed(fetch, [&] { batch = provider_->fetch_turns({.node = "bench", .lease = 30s}).value(); });
    if (batch.items.size() != 1) throw std::runtime_error("growth: one instance was expected");
    dm::TurnCommit last;
    last.token = dm::CommitToken{~number};
    last.node = "bench";
    last.instance = first[0].instance;
    last.incarnation = created[0].incarnation;
    last.basis = dm::HeldLease::all_of(batch.items[0]);
    last.execution = dm::ExecutionId{1};
    last.events = {{batch.items[0].last_event_id.next(), {}, {}, dm::event::OrchestrationFailed{}}};
    last.change.status = dm::Status::cancelled;
    last.cancel_rest = dm::CancelReason::orchestration_terminal_cancelled;
    cancelled += nanoseconds_of([&] { (void)commit_all(*provider_, {last}); });
    nanoseconds_[cancel].push_back(cancelled);
  }

 private:
  static double nanoseconds_of(const std::function<void()>& body) {
    const Instant began = now();
    body();
    return 1e6 * milliseconds_between(began, now());
  }
  void timed(Cost cost, const std::function<void()>& body) {
    nanoseconds_[cost].push_back(nanoseconds_of(body));
  }

  std::unique_ptr<BenchStore> store_;
  const HelloTurns& turns_;
  const std::size_t size_;
  std::uint64_t next_;
  dm::Provider* provider_ = nullptr;
  std::array<std::vector<double>, costs> nanoseconds_;
};

}  // namespace

void run_growth(Scene& scene) {
  const HelloTurns turns;
  const std::size_t largest = scene.arguments.count.value_or(many_instances);
  FilledStore small(scene, turns, std::min(few, largest));
  FilledStore large(scene, turns, largest);
  // In turn, so that a slow moment of the machine affects both.
  for (std::size_t round = 0; round < rounds; ++round) {
    small.measure();
    large.measure();
  }
  for (std::size_t cost = 0; cost < costs; ++cost) {
    const double before = median(small.nanoseconds()[cost]);
    for (const FilledStore* store : {&small, &large}) {
      const double each = median(store->nanoseconds()[cost]);
      Figure figure{.workload = "growth",
                    .figure = names[cost],
                    .size = store->size(),
                    .runs = rounds,
                    .per_second = 1e9 / each,
                    .ns_each = each};
      if (store == &large) figure.growth = each / before;
      scene.report.add(figure);
      if (store == &large) {
        char text[120];
        std::snprintf(text, sizeof text, "growth: %s costs %.2f times as much, %s %.1f", names[cost],
                      each / before, each / before <= bar ? "within" : "MORE THAN", bar);
        scene.progress(text);
      }
    }
  }
}

}  // namespace bench
