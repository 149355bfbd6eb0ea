// Waiting to be stopped: by Ctrl-C or by whoever manages services.
#pragma once

namespace duramen::cli {

/// From its construction on, SIGINT and SIGTERM no longer end the process but end wait(). The second one of a
/// kind ends the process at once, as if nobody listened.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// Blocks until one comes; answers which.
  int wait();

 private:
  int pipe_[2];
};

}  // namespace duramen::cli
