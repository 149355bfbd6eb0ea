#include "stop_signal.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <unistd.h>

namespace duramen::cli {

namespace {

std::atomic<int> pipe_in{-1};

void tell(int signal) {
  const int kept = errno;
  const auto byte = static_cast<unsigned char>(signal);
  if (::write(pipe_in.load(), &byte, 1) < 0)
    errno = kept;  // there is nothing a signal handler could do about it
  errno = kept;
}

void listen(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  // Handlers are gone after the first signal of their kind. A program that is started by an activity finds
  // neither.
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  if (::pipe(pipe_) != 0) throw std::runtime_error("no pipe could be made");
  pipe_in = pipe_[1];
  listen(tell);
}

StopSignal::~StopSignal() {
  listen(SIG_DFL);
  ::close(pipe_[0]);
  ::close(pipe_[1]);
}

int StopSignal::wait() {
  unsigned char signal = 0;
  while (::read(pipe_[0], &signal, 1) < 0 && errno == EINTR) {
  }
  return signal;
}

}  // namespace duramen::cli
