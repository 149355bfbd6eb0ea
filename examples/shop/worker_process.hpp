// A second run of this program, to be killed and started again.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace shop {

/// The process lives until its standard input ends: when it is told to stop, and also if this process dies.
class WorkerProcess {
 public:
  /// Runs this program with these arguments. Throws std::system_error.
  explicit WorkerProcess(std::vector<std::string> arguments);
  ~WorkerProcess() { stop(); }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// Looks without waiting.
  [[nodiscard]] bool has_ended();
  /// Asks it to end, and waits until it has; one that does not within ten seconds is killed.
  void stop();

  // Once it has ended:
  [[nodiscard]] bool was_killed() const;
  [[nodiscard]] bool ended_well() const;

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int status_ = -1;
  bool ended_ = false;
};

/// For the other side: returns when there is nobody left to work for.
void wait_for_end_of_input();

}  // namespace shop
