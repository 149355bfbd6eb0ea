// Three activities that would take a minute. Each is asked to stop after a moment: a function, a coroutine
// and a process.
#include <duramen/duramen.hpp>

#include <condition_variable>
#include <iostream>
#include <mutex>
#include <stdexcept>

namespace dm = duramen;
using namespace std::chrono_literals;

std::string why(const dm::ActivityContext& ctx) {
  const auto reason = ctx.cancel_reason();
  return std::string(reason ? to_string(*reason) : to_string(ctx.stop_cause()));
}

// [function]
/// A function has a thread. It checks its stop token, or passes it to the call in which it waits.
std::string compute(dm::ActivityContext& ctx) {
  std::mutex mutex;
  std::condition_variable_any data_arrived;
  std::unique_lock lock(mutex);
  data_arrived.wait_for(lock, ctx.stop_token(), 1min, [] { return false; });
  if (ctx.is_cancelled()) {
    std::cout << "function: told to stop, " << why(ctx) << std::endl;
    throw std::runtime_error("stopped");  // dropped: the result is no longer wanted
  }
  return "computed";
}
// [/function]

// [coroutine]
/// A coroutine has no thread while it waits: one thread runs thousands of them.
dm::ActivityTask<std::string> ask(dm::ActivityContext& ctx) {
  const bool rested = co_await ctx.sleep(1min);
  if (!rested) {
    std::cout << "coroutine: told to stop, " << why(ctx) << std::endl;
    throw std::runtime_error("stopped");
  }
  co_return "answered";
}
// [/coroutine]

// [process]
/// A command gets SIGTERM, and is killed if it does not end. Its child processes end with it.
dm::ProcessActivity convert() {
  return dm::ProcessActivity(
             {"sh", "-c", "trap 'echo process: told to stop >&2; exit 1' TERM; sleep 60 & wait"})
      .kill_after(5s);
}
// [/process]

// [race]
/// Waits for an activity, but only for a moment. The loser of the race is cancelled.
dm::Task<std::string> impatient(dm::OrchestrationContext& ctx, std::string activity) {
  auto winner = co_await ctx.select2(ctx.schedule_activity(activity, ""), ctx.schedule_timer(2s));
  co_return winner.is_first() ? winner.first() : activity + ": not waited for";
}
// [/race]

int main() {
  dm::Store store = dm::sqlite::open(":memory:");
  dm::Registry registry;
  registry.add("function", compute);
  registry.add("coroutine", ask);
  registry.add("process", convert());
  registry.add("impatient", impatient);
  dm::RuntimeOptions options;
  options.log = dm::text_log(dm::LogLevel::info, [](std::string_view line) {
    // The log shows the standard error of a process.
    if (const auto at = line.find("process: "); at != line.npos) {
      std::cout << line.substr(at, line.find(" instance_id") - at) << std::endl;
    }
  });
  dm::Runtime runtime{store, registry, options};
  dm::Client client{store};

  for (const std::string activity : {"function", "coroutine", "process"}) {
    client.start(activity, "impatient", activity).value();
    std::cout << client.wait(activity, 30s).value().output_as<std::string>() << std::endl;
  }
  runtime.shutdown();  // waits for running activities
}
