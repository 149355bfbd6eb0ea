// hello in a separate process: for figures of a whole process, or of several on one store.
#pragma once

#include "bench/child_program.hpp"
#include "bench/in_flight.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// The first word of its command line; not for people.
inline constexpr std::string_view hello_worker_word = "--hello-worker";

/// The main function of such a process.
int hello_worker(const std::vector<std::string>& words);

/// Its representation in the measuring process.
class HelloWorker {
 public:
  struct Outcome {
    std::uint64_t count = 0;
    double seconds = 0;
    double rss_mib = 0;  ///< resident when the last one had ended
  };

  /// Opens the store of this address and warms up. Its instances are named after `name`.
  HelloWorker(const std::string& store, const std::string& name, std::size_t width, const Limit& limit);
  void begin() const { program_.send_line("go"); }
  [[nodiscard]] Outcome wait();

 private:
  ChildProgram program_;
};

}  // namespace bench
