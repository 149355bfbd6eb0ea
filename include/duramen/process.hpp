// Activities that are commands: another program, in a process group of its own.
//
//   registry.add("Thumbnail", dm::ProcessActivity({"convert", "-", "-resize", "128", "png:-"}));
//
// The input goes to its standard input, its standard output is the result, its standard error goes to the
// log, line by line. It runs under a small shim process that owns the group: when the activity is cancelled
// the group gets SIGTERM and then SIGKILL, and when this process dies, however it dies, the group is killed.
// The host's signal handling is left alone.
//
// A thread of the runtime waits for it, so `activity_threads` bounds how many run at once.
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

/// A command as an activity. Give it to Registry::add() like a function.
class ProcessActivity {
 public:
  /// The program, looked up in PATH, and its arguments. No shell is involved.
  explicit ProcessActivity(std::vector<std::string> command);

  /// Adds to the environment it inherits. DURAMEN_INSTANCE, DURAMEN_ACTIVITY, DURAMEN_ATTEMPT and
  /// DURAMEN_IDEMPOTENCY_KEY are always there.
  ProcessActivity& environment(std::string name, std::string value);
  ProcessActivity& directory(std::string path);
  /// Its output is JSON, for a result of any type. Otherwise it is text, for a std::string; one line end at
  /// its end is left out.
  ProcessActivity& json_output();
  /// More output than this is an error, and ends it.
  ProcessActivity& max_output(std::size_t bytes);
  /// How long after SIGTERM it gets SIGKILL. Shorter than the runtime's grace period, or it is counted as
  /// abandoned meanwhile.
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
