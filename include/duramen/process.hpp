// Activities that run a command: another program, in its own process group.
//
//   registry.add("Thumbnail", dm::ProcessActivity({"convert", "-", "-resize", "128", "png:-"}));
//
// The input goes to its standard input, its standard output is the result, its standard error goes to the
// log, line by line. It runs under a small shim process that owns the group: when the activity is cancelled
// the group gets SIGTERM and then SIGKILL, and when this process dies for any reason, the group is killed.
// The host's signal handling is not changed.
//
// A thread of the runtime waits for it, so `activity_threads` limits how many run at once.
#pragma once

#include <duramen/activity.hpp>
#include <duramen/payload.hpp>
#include <duramen/time.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace duramen::inline v0 {

/// A command as an activity. Pass it to Registry::add() like a function.
class ProcessActivity {
 public:
  /// The program, searched in PATH, and its arguments. No shell is involved.
  explicit ProcessActivity(std::vector<std::string> command);

  /// Adds to the inherited environment. DURAMEN_INSTANCE, DURAMEN_ACTIVITY, DURAMEN_ATTEMPT and
  /// DURAMEN_IDEMPOTENCY_KEY are always set.
  ProcessActivity& environment(std::string name, std::string value);
  ProcessActivity& directory(std::string path);
  /// Its output is JSON, for a result of any type. By default it is text, for a std::string; one trailing
  /// line end is removed.
  ProcessActivity& json_output();
  /// Larger output is an error and ends the command.
  ProcessActivity& max_output(std::size_t bytes);
  /// The time between SIGTERM and SIGKILL. Keep it shorter than the runtime's grace period; otherwise the
  /// activity counts as abandoned in between.
  template <class Rep, class Period>
  ProcessActivity& kill_after(std::chrono::duration<Rep, Period> pause) {
    kill_after_ = round_up(pause);
    return *this;
  }

  /// Runs it. Throws ApplicationError: type "ProcessFailed" with the exit status or signal in its details,
  /// "ProcessNotStarted" if there is no such program, "ProcessOutputTooLarge".
  Payload operator()(ActivityContext& ctx, Payload input) const;

 private:
  std::vector<std::string> command_;
  std::vector<std::pair<std::string, std::string>> environment_;
  std::string directory_;
  Encoding output_ = Encoding::text;
  std::size_t max_output_ = std::size_t{2} << 20u;
  Duration kill_after_ = std::chrono::seconds{5};
};

}  // namespace duramen::inline v0
