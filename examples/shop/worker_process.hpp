// A second run of this program, to be killed and started again.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace shop {

/// The process lives until its standard input ends: after a stop request, and even if this process dies.
class WorkerProcess {
 public:
  /// Runs this program with these arguments. Throws std::system_error.
  explicit WorkerProcess(std::vector<std::string> arguments);
  ~WorkerProcess() { stop(); }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// Checks without waiting.
  [[nodiscard]] bool has_ended();
  /// Asks it to end, and waits; kills it after ten seconds.
  void stop();

  // After its end:
  [[nodiscard]] bool was_killed() const;
  [[nodiscard]] bool ended_well() const;

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int status_ = -1;
  bool ended_ = false;
};

/// For the other side: returns when the parent has closed its standard input.
void wait_for_end_of_input();

}  // namespace shop
