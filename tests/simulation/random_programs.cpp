#include "simulation/random_programs.hpp"

#include <duramen/combinators.hpp>
#include <duramen/orchestration.hpp>

#include <algorithm>
#include <cstdlib>

namespace duramen::simulation_test {

using namespace std::chrono_literals;

namespace {

/// The same numbers for the same seed, on every machine.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 1) {}
  std::uint64_t next() {
    state_ ^= state_ << 13u;
    state_ ^= state_ >> 7u;
    state_ ^= state_ << 17u;
    return state_ * 0x2545F4914F6CDD1Dull;
  }
  std::uint64_t below(std::uint64_t n) { return (next() >> 33u) % n; }

 private:
  std::uint64_t state_;
};

// Numbers that travel as JSON stay below 2^53.
constexpr std::uint64_t modulus = 1'000'003;
std::uint64_t mix(std::uint64_t sum, std::uint64_t value) { return (sum * 31 + value + 7) % modulus; }
std::uint64_t worked(std::uint64_t number) { return (number * 17 + 3) % modulus; }

Program child_of(const Program& parent, const Step& step) {
  return {step.number, parent.at(1) - 1, 1, 0, nothing, 0};
}
Program next_of(const Program& program, std::uint64_t sum, std::uint64_t taken = 0) {
  return {program.at(0) + 1, program.at(1), program.at(2) - 1, sum, program.at(4), taken};
}

std::string event_name(const Step& step) { return "e" + std::to_string(step.number % 3); }

/// The value of a queue message. The message carries its place in the queue.
constexpr std::uint64_t message_value = 2;
constexpr std::uint64_t event_value = 1;

Task<std::uint64_t> run_program(OrchestrationContext& ctx, Program program) {
  std::uint64_t sum = program.at(3);
  std::uint64_t taken = program.at(5);
  const auto take = [&taken](std::uint64_t place) {
    if (place != taken) throw std::runtime_error("a message out of order");
    ++taken;
  };
  for (const Step& step : steps_of(program)) {
    switch (step.kind) {
      case Step::Kind::activity: {
        auto value = co_await ctx.schedule_activity<std::uint64_t>(
            step.number % 2 == 0 ? "Work" : "WorkSlowly", step.number);
        sum = mix(sum, value);
        break;
      }
      case Step::Kind::timer:
        co_await ctx.schedule_timer(std::chrono::seconds{step.number % 30});
        break;
      case Step::Kind::race: {
        auto winner = co_await ctx.select2(ctx.schedule_activity<std::uint64_t>("WorkSlowly", step.number),
                                           ctx.schedule_timer(std::chrono::seconds{step.number % 7}));
        if (winner.index() == 0 && winner.first() != worked(step.number))
          throw std::runtime_error("a wrong winner");
        break;
      }
      case Step::Kind::join: {
        std::vector<DurableFuture<std::uint64_t>> all;
        for (std::uint64_t i = 0; i < step.width; ++i) {
          all.push_back(
              ctx.schedule_activity<std::uint64_t>(i % 2 == 0 ? "WorkSlowly" : "Work", step.number + i));
        }
        auto values = co_await ctx.join(std::move(all));
        for (const std::uint64_t value : values) sum = mix(sum, value);
        break;
      }
      case Step::Kind::child: {
        auto value =
            co_await ctx.schedule_sub_orchestration<std::uint64_t>("program", child_of(program, step));
        sum = mix(sum, value);
        break;
      }
      case Step::Kind::drop: {
        auto dropped = ctx.schedule_activity<std::uint64_t>("WorkSlowly", step.number).start();
        co_await ctx.schedule_timer(std::chrono::seconds{step.number % 3});
        break;
      }
      case Step::Kind::failure: {
        auto result = co_await ctx.schedule_activity<std::uint64_t>("Fail", step.number)
                          .with_retry(RetryPolicy().attempts(3).backoff(Backoff::fixed(1s)))
                          .as_result();
        if (result) throw std::runtime_error("it should have failed");
        break;
      }
      case Step::Kind::marks:
        ctx.set_custom_status("at " + std::to_string(step.number));
        ctx.set_kv_value("last", step.number);
        break;
      case Step::Kind::event:
        co_await ctx.schedule_wait<std::uint64_t>(event_name(step));
        sum = mix(sum, event_value);
        break;
      case Step::Kind::queue:
        for (std::uint64_t i = 0; i < step.width; ++i) {
          auto place = co_await ctx.dequeue_event<std::uint64_t>("q");
          take(place);
          sum = mix(sum, message_value);
        }
        break;
      case Step::Kind::impatient: {
        bool here = false;
        while (!here) {
          auto winner = co_await ctx.select2(ctx.dequeue_event<std::uint64_t>("q"),
                                             ctx.schedule_timer(std::chrono::seconds{10 + step.number % 50}));
          here = winner.index() == 0;
          if (here) take(winner.first());
        }
        sum = mix(sum, message_value);
        break;
      }
    }
  }
  if (program.at(2) > 1) co_return co_await ctx.continue_as_new(next_of(program, sum, taken));
  co_return sum;
}

}  // namespace

Program make_program(std::uint64_t seed, Receives receives) {
  Dice dice(seed);
  return {dice.below(modulus), dice.below(3), 1 + dice.below(3), 0, receives, 0};
}

std::vector<Step> steps_of(const Program& program) {
  Dice dice(program.at(0));
  std::vector<Step> steps(1 + dice.below(5));
  for (Step& step : steps) {
    step.kind = static_cast<Step::Kind>(dice.below(Step::kinds));
    step.number = dice.below(modulus);
    step.width = 2 + dice.below(4);
    if (step.kind == Step::Kind::child && program.at(1) == 0) step.kind = Step::Kind::activity;
    if (step.kind >= Step::Kind::event && program.at(4) == nothing) step.kind = Step::Kind::activity;
  }
  return steps;
}

std::uint64_t expected_result(const Program& program) {
  std::uint64_t sum = program.at(3);
  for (const Step& step : steps_of(program)) {
    if (step.kind == Step::Kind::activity) sum = mix(sum, worked(step.number));
    if (step.kind == Step::Kind::join) {
      for (std::uint64_t i = 0; i < step.width; ++i) sum = mix(sum, worked(step.number + i));
    }
    if (step.kind == Step::Kind::child) sum = mix(sum, expected_result(child_of(program, step)));
    if (step.kind == Step::Kind::event) sum = mix(sum, event_value);
    if (step.kind == Step::Kind::queue) {
      for (std::uint64_t i = 0; i < step.width; ++i) sum = mix(sum, message_value);
    }
    if (step.kind == Step::Kind::impatient) sum = mix(sum, message_value);
  }
  return program.at(2) > 1 ? expected_result(next_of(program, sum)) : sum;
}

std::vector<std::string> events_for(const Program& program) {
  std::vector<std::string> names;
  for (const Step& step : steps_of(program)) {
    if (step.kind == Step::Kind::event) names.push_back(event_name(step));
  }
  if (program.at(2) > 1) {
    for (std::string& name : events_for(next_of(program, 0))) names.push_back(std::move(name));
  }
  return names;
}

std::uint64_t queued_for(const Program& program) {
  std::uint64_t count = 0;
  for (const Step& step : steps_of(program)) {
    if (step.kind == Step::Kind::queue) count += step.width;
    if (step.kind == Step::Kind::impatient) ++count;
  }
  return program.at(2) > 1 ? count + queued_for(next_of(program, 0)) : count;
}

std::string describe(const Program& program) {
  static constexpr const char* names[] = {"activity", "timer", "race",  "join",  "child",    "drop",
                                          "failure",  "marks", "event", "queue", "impatient"};
  std::string text;
  for (const Step& step : steps_of(program)) {
    text += std::string(names[static_cast<std::size_t>(step.kind)]) + " " + std::to_string(step.number);
    if (step.kind == Step::Kind::join || step.kind == Step::Kind::queue)
      text += " x" + std::to_string(step.width);
    if (step.kind == Step::Kind::child) text += " {" + describe(child_of(program, step)) + "}";
    text += "; ";
  }
  return program.at(2) > 1 ? text + "again: " + describe(next_of(program, 0)) : text;
}

Registry program_registry() {
  Registry registry;
  registry.add("program", run_program);
  registry.add("Work", [](ActivityContext&, std::uint64_t number) { return worked(number); });
  registry.add("WorkSlowly", [](ActivityContext& ctx, std::uint64_t number) -> ActivityTask<std::uint64_t> {
    for (std::uint64_t i = 0; i < number % 4; ++i) {
      if (!co_await ctx.sleep(1s)) break;
    }
    co_return worked(number);
  });
  registry.add("Fail", [](ActivityContext&, std::uint64_t number) -> std::uint64_t {
    throw std::runtime_error("no " + std::to_string(number));
  });
  return registry;
}

std::string simulate_programs(testing::SimulationOptions options, testing::SimulationReport* report) {
  constexpr std::size_t programs = 3;
  Dice dice(options.seed);
  options.deadline = std::min<Duration>(options.deadline, std::chrono::hours{24 * 30});
  options.trace = std::getenv("DURAMEN_SIMULATION_SEED") != nullptr;
  testing::Simulation simulation(program_registry(), options);
  std::vector<std::pair<Program, bool>> all;
  for (std::size_t i = 0; i < programs; ++i) {
    const InstanceId id("p" + std::to_string(i));
    const bool cancelled = dice.below(3) == 0;
    all.emplace_back(make_program(dice.next(), messages), cancelled);
    const Program& program = all.back().first;
    simulation.start(id, "program", program, Duration{dice.below(5000)});
    if (cancelled) simulation.cancel(id, "chance has it", Duration{dice.below(40'000)});
    std::uint64_t place = 0;
    for (const std::string& name : events_for(program)) {
      simulation.raise_event(id, name, place++, Duration{dice.below(60'000)});
    }
    Duration when{};
    for (std::uint64_t queued = 0; queued < queued_for(program); ++queued) {
      when += Duration{dice.below(2) == 0 ? 0 : dice.below(20'000)};
      simulation.enqueue_event(id, "q", queued, when);
    }
  }
  const testing::SimulationReport outcome = simulation.run();
  if (report != nullptr) *report = outcome;
  std::string wrong;
  for (std::size_t i = 0; i < programs; ++i) {
    const auto& [program, cancelled] = all[i];
    const auto info = simulation.instance("p" + std::to_string(i));
    const std::string want = std::to_string(expected_result(program));
    const bool completed = info && info->status == Status::completed && info->output->data == want;
    if (completed || (cancelled && info && info->status == Status::cancelled)) continue;
    wrong += "p" + std::to_string(i) + " is " + (info ? std::string(to_string(info->status)) : "missing") +
             " with " +
             (info && info->output    ? info->output->data
              : info && info->failure ? info->failure->message
                                      : "nothing") +
             ", not " + want + ": " + describe(program) + "\n";
  }
  if (!outcome.ok() || !wrong.empty()) wrong += outcome.describe();
  if (options.trace && !wrong.empty()) {
    for (const std::string& line : outcome.trace) wrong += line + "\n";
  }
  return wrong;
}

}  // namespace duramen::simulation_test
