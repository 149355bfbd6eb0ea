#include "bench/workloads/cancel_worker.hpp"

#include "bench/arguments.hpp"
#include "bench/bench_store.hpp"
#include "bench/child_program.hpp"
#include "bench/workloads/waiting.hpp"
#include <duramen/registry.hpp>
#include <duramen/runtime.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <utility>

namespace bench {

namespace dm = duramen;

namespace {

/// One line per event, each in one write: lines of different threads do not mix.
class PipeListener final : public WaitingListener {
 public:
  explicit PipeListener(int pipe) : pipe_(pipe) {}
  void running(const std::string& instance) override { write_line("running " + instance + "\n"); }
  void stopped(const std::string& instance, Instant when) override {
    write_line("stopped " + instance + " " + std::to_string(as_nanoseconds(when)) + "\n");
  }

 private:
  void write_line(const std::string& line) const {
    if (::write(pipe_, line.data(), line.size()) < 0)
      // The reader is gone: this process ends soon.
      return;
  }
  const int pipe_;
};

}  // namespace

int cancel_worker(const std::vector<std::string>& words) {
  if (words.size() < 2) throw BadArguments(std::string(cancel_worker_word) + " is not for people");
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGPIPE, SIG_IGN);

  PipeListener listener(std::stoi(words[1]));
  dm::Registry registry;
  if (words.size() > 2 && words[2] == "turns") add_waiting_orchestrations(registry);
  add_waiting_activities(registry, listener);
  const dm::Runtime runtime(open_store(read_secret()), std::move(registry),
                            {.activity_lease = std::chrono::seconds{30}});
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}

}  // namespace bench
