#include "stop_signal.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <unistd.h>

namespace duramen::cli {

namespace {

std::atomic<int> pipe_in{-1};

void on_signal(int signal) {
  const int kept = errno;
  const auto byte = static_cast<unsigned char>(signal);
  if (::write(pipe_in.load(), &byte, 1) < 0) errno = kept;  // a signal handler cannot handle it
  errno = kept;
}

void listen(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  // A handler is removed after its first signal. A program started by an activity inherits neither handler.
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  if (::pipe(pipe_) != 0) throw std::runtime_error("no pipe could be made");
  pipe_in = pipe_[1];
  listen(on_signal);
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
