// A reminder at the end of a trial, even if the process is restarted until then.
//
// The first argument is the length of the trial in seconds. Press Ctrl-C while it waits and start it again.
#include <duramen/duramen.hpp>

#include <iostream>
#include <string>

namespace dm = duramen;
using namespace std::chrono_literals;

inline constexpr dm::Activity<void(std::string)> Mail{"Mail"};

void mail(dm::ActivityContext&, std::string text) { std::cout << text << std::endl; }

// [trial]
dm::Task<std::string> trial(dm::OrchestrationContext& ctx, int seconds) {
  const dm::TimePoint begin = co_await ctx.utc_now();  // recorded: the same on every replay
  co_await ctx.schedule_activity(Mail, "welcome");

  co_await ctx.schedule_timer(std::chrono::seconds(seconds));  // std::chrono::days{30} works as well

  co_await ctx.schedule_activity(Mail, "your trial has ended");
  const dm::TimePoint end = co_await ctx.utc_now();
  const bool on_time = end - begin >= std::chrono::seconds(seconds);
  co_return on_time ? "not a moment too early" : "too early";
}
// [/trial]

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? std::stoi(argv[1]) : 5;
  dm::Store store = dm::sqlite::open("trial.db");
  dm::Registry registry;
  registry.add(Mail, mail);
  registry.add("trial", trial);
  dm::Runtime runtime{store, registry};
  dm::Client client{store};

  const dm::StartOutcome outcome = client.start("ann", "trial", seconds).value();
  if (outcome == dm::StartOutcome::exists) std::cout << "(goes on)" << std::endl;
  std::cout << client.wait("ann", 24h).value().output_as<std::string>() << std::endl;
}
