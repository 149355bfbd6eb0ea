// The worker of docs/start.md.
#include <duramen/duramen.hpp>

#include <csignal>

namespace dm = duramen;
using namespace std::chrono_literals;

void serve(const dm::Registry& registry);

void serve(const dm::Registry& registry) {
  // [serve]
  // First of all: later threads inherit the mask.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  dm::Store store = dm::sqlite::open("reminders.db");
  dm::Runtime runtime{store, registry};
  int signal = 0;
  sigwait(&signals, &signal);
  // Running activities may finish within this time; the others are released.
  runtime.shutdown(10s);
  // [/serve]
}
