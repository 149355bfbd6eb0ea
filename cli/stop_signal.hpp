// Waiting for a stop: by Ctrl-C or by a service manager.
#pragma once

namespace duramen::cli {

/// From its construction on, SIGINT and SIGTERM end wait() instead of the process. The second signal of a
/// kind ends the process at once.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// Blocks until a signal arrives and returns it.
  int wait();

 private:
  int pipe_[2];
};

}  // namespace duramen::cli
