// Starts this program again as the worker of cancel2, and listens to it.
#pragma once

#include "bench/measure.hpp"

#include <string>
#include <sys/types.h>
#include <vector>

namespace bench {

class WorkerProcess {
 public:
  /// `file`: the store. `turns`: it runs orchestrations too.
  WorkerProcess(const std::string& file, bool turns);
  /// Asks it to end, and waits for that.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Throw if nothing is heard for long.
  void await_running(const std::string& instance);
  [[nodiscard]] Instant await_stopped(const std::string& instance);

 private:
  /// The rest of the next line that begins with `word` and the instance.
  std::string await(const std::string& word, const std::string& instance);
  std::string read_line();

  pid_t pid_ = -1;
  int control_ = -1;  // its standard input: closed, it ends
  int reports_ = -1;
  std::string buffer_;
};

}  // namespace bench
