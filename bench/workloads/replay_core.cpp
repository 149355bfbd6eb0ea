// replay: the cost of the engine alone, and whether it stays constant when sizes grow.
//
// Sizes are things in one execution: activities awaited, open or finished. This workload finds figures that
// grow with the size: work per thing and per completion.

#include "bench/measure.hpp"
#include "bench/workload.hpp"
#include "bench/workloads/core_subject.hpp"
#include <duramen/orchestration.hpp>
#include <duramen/task.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <malloc.h>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace dm = duramen;

namespace {

using namespace std::chrono_literals;
using dm::core::TurnOutcome;

// -- the code under test ------------------------------------------------------------------------------------

dm::DurableFuture<int> step(dm::OrchestrationContext& ctx, int i) {
  return ctx.schedule_activity<int>("Step", i);
}

dm::Task<int> sequence(dm::OrchestrationContext& ctx, int size) {
  int sum = 0;
  for (int i = 0; i < size; ++i) sum += co_await step(ctx, i);
  sum += co_await ctx.schedule_wait<int>(std::string(unanswered_event));
  co_return sum;
}

/// Some steps of every kind, one after the other.
dm::Task<int> mixture(dm::OrchestrationContext& ctx, int size) {
  int sum = 0;
  for (int i = 0; i < size; ++i) {
    switch (i % 4) {
      case 0:
        sum += co_await step(ctx, i);
        break;
      case 1:
        co_await ctx.schedule_timer(1s);
        break;
      case 2:
        sum += co_await ctx.schedule_sub_orchestration<int>("Child", i);
        break;
      default:
        sum += co_await ctx.schedule_wait<int>(std::string(answered_event));
    }
  }
  sum += co_await ctx.schedule_wait<int>(std::string(unanswered_event));
  co_return sum;
}

dm::Task<void> steps_for_ever(dm::OrchestrationContext& ctx) {
  for (int i = 0;; ++i) co_await step(ctx, i);
}

/// `size` tasks, each with one activity open at any time.
dm::Task<int> pool(dm::OrchestrationContext& ctx, int size) {
  std::vector<dm::Task<void>> tasks;
  for (int i = 0; i < size; ++i) tasks.push_back(steps_for_ever(ctx));
  co_await ctx.join(std::move(tasks));
  co_return size;
}

std::vector<dm::DurableFuture<int>> start_steps(dm::OrchestrationContext& ctx, int size) {
  std::vector<dm::DurableFuture<int>> futures;
  for (int i = 0; i < size; ++i) futures.push_back(step(ctx, i));
  return futures;
}

dm::Task<int> join_steps(dm::OrchestrationContext& ctx, int size) {
  auto results = co_await ctx.join(start_steps(ctx, size));
  co_return std::accumulate(results.begin(), results.end(), 0);
}

dm::Task<int> select_steps(dm::OrchestrationContext& ctx, int size) {
  auto [winner, result] = co_await ctx.select(start_steps(ctx, size));
  co_return static_cast<int>(winner) + result;
}

dm::Task<int> select_waits(dm::OrchestrationContext& ctx, int size) {
  std::vector<dm::DurableFuture<int>> waits;
  for (int i = 0; i < size; ++i) waits.push_back(ctx.schedule_wait<int>(std::string(answered_event)));
  auto [winner, result] = co_await ctx.select(std::move(waits));
  co_return static_cast<int>(winner) + result;
}

dm::Task<int> one_step(dm::OrchestrationContext& ctx, int i) { co_return co_await step(ctx, i); }

dm::Task<int> one_timer(dm::OrchestrationContext& ctx, int i) {
  co_await ctx.schedule_timer(24h);
  co_return i;
}

// -- timed runs ------------------------------------------------------------------------------------------

/// One run: its time and its number of things.
struct Sample {
  double seconds = 0;
  std::size_t things = 0;
};

using Run = std::function<Sample()>;

struct TimedFigure {
  const char* name;
  /// Prepares the shared state of all runs of one size.
  std::function<Run(std::size_t size)> prepare;
};

struct MemoryFigure {
  const char* name;
  std::function<double(std::size_t size)> bytes_each;
};

template <class Work>
double timed(Work work) {
  const double began = thread_cpu_seconds();
  work();
  return thread_cpu_seconds() - began;
}

void require_outcome(bool as_expected, const char* otherwise) {
  if (!as_expected) throw std::runtime_error(otherwise);
}

std::vector<dm::EventId> ids_of(const TurnOutcome& turn) {
  std::vector<dm::EventId> ids;
  ids.reserve(turn.activities.size());
  for (const dm::ActivityRequest& activity : turn.activities) ids.push_back(activity.key.activity);
  return ids;
}

/// The number of timed completions if the size is the number of other things. Equal for all large sizes, so
/// that they are comparable.
std::size_t completions_for(std::size_t size) { return std::min<std::size_t>(10 * size, 10'000); }

Run replay_of(const OrchestrationCode& code, std::size_t size) {
  auto history = std::make_shared<const std::vector<dm::Event>>(record_history(code, size));
  return [code, history] {
    std::optional<CoreSubject> subject;
    const double seconds = timed([&] { (void)subject.emplace(code).replay(*history); });
    return Sample{seconds, history->size()};
  };
}

/// Completions one turn each, of tasks that are `stride` apart; each makes its task schedule the next
/// activity.
Run completions_among_open(std::size_t size, std::size_t stride) {
  auto subject = std::make_shared<CoreSubject>(as_code(pool));
  auto ids = std::make_shared<std::vector<dm::EventId>>(ids_of(subject->start(size)));
  auto at = std::make_shared<std::size_t>(0);
  return [=] {
    const std::size_t count = completions_for(size);
    const double seconds = timed([&] {
      for (std::size_t i = 0; i < count; ++i) {
        const TurnOutcome turn = subject->deliver(completion_of((*ids)[*at]));
        (*ids)[*at] = turn.activities.at(0).key.activity;
        *at = (*at + stride) % size;
      }
    });
    return Sample{seconds, count};
  };
}

/// Completions one turn each, after `size` others.
Run completions_after_finished(std::size_t size) {
  const OrchestrationCode code = as_code(sequence);
  auto history = std::make_shared<const std::vector<dm::Event>>([&] {
    std::vector<dm::Event> events = record_history(code, size + 1);
    // The last activity of `size` + 1 is still open.
    events.resize(2 * size + 2);
    return events;
  }());
  return [=] {
    const std::size_t count = completions_for(size);
    // More work than in history: the amount of work is the input, which is not compared.
    CoreSubject subject(as_code([count, size](dm::OrchestrationContext& ctx, int) {
      return sequence(ctx, static_cast<int>(size + count + 1));
    }));
    (void)subject.replay(*history);
    dm::EventId open = history->back().id;
    const double seconds = timed([&] {
      for (std::size_t i = 0; i < count; ++i) {
        const TurnOutcome turn = subject.deliver(completion_of(open));
        open = turn.activities.at(0).key.activity;
      }
    });
    return Sample{seconds, count};
  };
}

Sample repeated(std::size_t size, const std::function<double()>& once) {
  Sample sample;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, completions_for(size) / size); ++i) {
    sample.seconds += once();
    sample.things += size;
  }
  return sample;
}

Run fan_out(std::size_t size) {
  return [code = as_code(join_steps), size] {
    return repeated(size, [&] {
      std::optional<CoreSubject> subject;
      TurnOutcome turn;
      const double seconds = timed([&] { turn = subject.emplace(code).start(size); });
      require_outcome(turn.activities.size() == size, "not every activity left the turn");
      return seconds;
    });
  };
}

enum class Turns { one, one_each };
enum class Order { argument, reverse };

Run join_of(std::size_t size, Turns turns, Order order) {
  return [=, code = as_code(join_steps)] {
    return repeated(size, [&] {
      CoreSubject subject(code);
      std::vector<dm::MessageBody> completions;
      for (const dm::EventId id : ids_of(subject.start(size))) completions.push_back(completion_of(id));
      if (order == Order::reverse) std::reverse(completions.begin(), completions.end());
      TurnOutcome last;
      const double seconds = timed([&] {
        if (turns == Turns::one) {
          last = subject.deliver(completions);
        } else {
          for (const dm::MessageBody& completion : completions) last = subject.deliver(completion);
        }
      });
      require_outcome(last.status == dm::Status::completed, "a join did not end with its last branch");
      return seconds;
    });
  };
}

enum class Winner { first, last };

Run select_of(std::size_t size, Winner winner) {
  return [=, code = as_code(select_steps)] {
    return repeated(size, [&] {
      CoreSubject subject(code);
      const std::vector<dm::EventId> ids = ids_of(subject.start(size));
      const dm::MessageBody completion = completion_of(winner == Winner::first ? ids.front() : ids.back());
      TurnOutcome last;
      const double seconds = timed([&] { last = subject.deliver(completion); });
      require_outcome(last.status == dm::Status::completed && last.cancelled_activities.size() == size - 1,
                      "a select did not cancel its losers");
      return seconds;
    });
  };
}

Run select_of_waits(std::size_t size) {
  return [=, code = as_code(select_waits)] {
    return repeated(size, [&] {
      CoreSubject subject(code);
      (void)subject.start(size);
      TurnOutcome last;
      const double seconds = timed([&] {
        last =
            subject.deliver(dm::message::ExternalRaised{std::string(answered_event), dm::Payload::json("1")});
      });
      require_outcome(last.status == dm::Status::completed, "a select did not end with its first event");
      return seconds;
    });
  };
}

// -- memory -------------------------------------------------------------------------------------------------

/// Bytes that are allocated now, the allocator's own included.
std::size_t allocated() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

double bytes_per(std::size_t things, std::size_t before) {
  return (static_cast<double>(allocated()) - static_cast<double>(before)) / static_cast<double>(things);
}

/// Memory of many executions that each wait for one thing.
double resident_bytes(const OrchestrationCode& code, std::size_t size) {
  std::vector<std::unique_ptr<CoreSubject>> subjects;
  subjects.reserve(size);
  const std::size_t before = allocated();
  for (std::size_t i = 0; i < size; ++i) {
    subjects.push_back(std::make_unique<CoreSubject>(code));
    (void)subjects.back()->start(i);
  }
  return bytes_per(size, before);
}

/// Memory of one execution that waits for many things.
double open_bytes(const OrchestrationCode& code, std::size_t size) {
  const std::size_t before = allocated();
  CoreSubject subject(code);
  (void)subject.start(size);
  return bytes_per(size, before);
}

/// During its lifetime, freed memory is kept: fresh pages are a cost of the kernel, and only large sizes
/// would pay it.
class KeepFreedMemory {
 public:
  KeepFreedMemory() { set(1 << 30, 1 << 30); }
  ~KeepFreedMemory() {
    set(128 << 10, 128 << 10);  // as it is by default
    ::malloc_trim(0);
  }
  KeepFreedMemory(const KeepFreedMemory&) = delete;
  KeepFreedMemory& operator=(const KeepFreedMemory&) = delete;

 private:
  static void set(int mmap_threshold, int trim_threshold) {
    ::mallopt(M_MMAP_THRESHOLD, mmap_threshold);
    ::mallopt(M_TRIM_THRESHOLD, trim_threshold);
  }
};

// -- the workload
// ----------------------------------------------------------------------------------------------

/// A large stride that reaches all of them: it shares no divisor with any used size.
constexpr std::size_t scattered = 7919;

std::vector<TimedFigure> timed_figures() {
  return {
      {"replay-sequence", [](std::size_t n) { return replay_of(as_code(sequence), n); }},
      {"replay-mixture", [](std::size_t n) { return replay_of(as_code(mixture), n); }},
      {"completion-open", [](std::size_t n) { return completions_among_open(n, 1); }},
      {"completion-open-scattered", [](std::size_t n) { return completions_among_open(n, scattered); }},
      {"completion-finished", completions_after_finished},
      {"fan-out", fan_out},
      {"join-one-turn", [](std::size_t n) { return join_of(n, Turns::one, Order::argument); }},
      {"join-one-turn-reverse", [](std::size_t n) { return join_of(n, Turns::one, Order::reverse); }},
      {"join-turn-each", [](std::size_t n) { return join_of(n, Turns::one_each, Order::argument); }},
      {"join-turn-each-reverse", [](std::size_t n) { return join_of(n, Turns::one_each, Order::reverse); }},
      {"select-first", [](std::size_t n) { return select_of(n, Winner::first); }},
      {"select-last", [](std::size_t n) { return select_of(n, Winner::last); }},
      {"select-waits", select_of_waits},
  };
}

std::vector<MemoryFigure> memory_figures() {
  return {
      {"resident-on-activity", [](std::size_t n) { return resident_bytes(as_code(one_step), n); }},
      {"resident-on-timer", [](std::size_t n) { return resident_bytes(as_code(one_timer), n); }},
      {"open-activity", [](std::size_t n) { return open_bytes(as_code(join_steps), n); }},
      {"open-task", [](std::size_t n) { return open_bytes(as_code(pool), n); }},
  };
}

void measure_figure(const Scene& scene, const TimedFigure& figure, const std::vector<std::size_t>& sizes) {
  const std::size_t runs = std::max<std::size_t>(1, scene.arguments.pairs);
  std::optional<double> smallest;
  for (const std::size_t size : sizes) {
    scene.progress(std::string(figure.name) + " of " + std::to_string(size));
    const Run run = figure.prepare(size);
    (void)run();  // warms caches and allocator
    std::vector<double> nanoseconds;
    for (std::size_t i = 0; i < runs; ++i) {
      const Sample sample = run();
      nanoseconds.push_back(sample.seconds * 1e9 / static_cast<double>(sample.things));
    }
    Figure row;
    row.workload = "replay";
    row.figure = figure.name;
    row.size = size;
    row.runs = runs;
    row.ns_each = median(nanoseconds);
    row.per_second = 1e9 / *row.ns_each;
    if (smallest) row.growth = *row.ns_each / *smallest;
    if (!smallest) smallest = row.ns_each;
    scene.report.add(row);
  }
}

}  // namespace

void run_replay(Scene& scene) {
  const KeepFreedMemory keep;
  std::vector<std::size_t> sizes = scene.arguments.widths;
  if (sizes.empty()) sizes = {1'000, 10'000, 100'000};
  std::sort(sizes.begin(), sizes.end());
  for (const TimedFigure& figure : timed_figures()) measure_figure(scene, figure, sizes);

  const std::size_t middle = sizes[sizes.size() / 2];
  for (const MemoryFigure& figure : memory_figures()) {
    scene.progress(std::string(figure.name) + " of " + std::to_string(middle));
    Figure row;
    row.workload = "replay";
    row.figure = figure.name;
    row.size = middle;
    row.bytes_each = figure.bytes_each(middle);
    scene.report.add(row);
  }
}

}  // namespace bench
