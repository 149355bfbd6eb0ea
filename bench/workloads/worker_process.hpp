// The worker of cancel2, represented in the measuring process.
#pragma once

#include "bench/child_program.hpp"
#include "bench/measure.hpp"

#include <string>

namespace bench {

class WorkerProcess {
 public:
  /// `store`: its address. `turns`: it also runs orchestrations.
  WorkerProcess(const std::string& store, bool turns);

  // Throw after a long silence.
  void await_running(const std::string& instance);
  [[nodiscard]] Instant await_stopped(const std::string& instance);

 private:
  /// The rest of the next line that begins with `word` and the instance.
  std::string await(const std::string& word, const std::string& instance);

  ChildProgram program_;
};

}  // namespace bench
