// hello in a process of its own: for what can only be seen from outside, or needs several of them on one
// store.
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

/// What such a process does, from its command line to its end.
int hello_worker(const std::vector<std::string>& words);

/// The same, as seen from the process that measures.
class HelloWorker {
 public:
  struct Outcome {
    std::uint64_t count = 0;
    double seconds = 0;
    double rss_mib = 0;  ///< resident when the last one had ended
  };

  /// Opens the store of this address and warms up. Its instances are named after `name`.
  HelloWorker(const std::string& store, const std::string& name, std::size_t width, const Limit& limit);
  void begin() const { program_.say("go"); }
  [[nodiscard]] Outcome wait();

 private:
  ChildProgram program_;
};

}  // namespace bench
