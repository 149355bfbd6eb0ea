#include "runtime/process/shim.hpp"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace duramen::inline v0::runtime {

namespace {

// Both processes below run only code that is safe between fork and exec: no allocation, no locks, no C++
// runtime.

void report(int fd, ShimReport::Kind kind, int value) {
  const ShimReport message{kind, value};
  [[maybe_unused]] const auto written = ::write(fd, &message, sizeof message);
}

/// The host may have blocked or ignored signals; a command expects the defaults, as from a shell.
void reset_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Puts the command's streams at the numbers it expects, before any other descriptor is opened here.
bool take_streams(const ShimPlan& plan) {
  return ::dup2(plan.input, STDIN_FILENO) >= 0 && ::dup2(plan.output, STDOUT_FILENO) >= 0 &&
         ::dup2(plan.errors, STDERR_FILENO) >= 0;
}

/// The shim must keep no descriptor of the host: no file with its locks, and no other end of an orders
/// channel, because its closing reports that the host is gone.
void close_all_but_streams_and(int one, int other) {
  const auto low = static_cast<unsigned>(one < other ? one : other);
  const auto high = static_cast<unsigned>(one < other ? other : one);
  constexpr unsigned first = STDERR_FILENO + 1;
  if (low > first) ::close_range(first, low - 1, 0);
  if (high > low + 1) ::close_range(low + 1, high - 1, 0);
  ::close_range(high + 1, ~0U, 0);
}

[[noreturn]] void become_command(const ShimPlan& plan, int failed) {
  ::setpgid(0, 0);
  reset_signals();
  if (plan.directory == nullptr || ::chdir(plan.directory) == 0) {
    ::execve(plan.program, const_cast<char* const*>(plan.argv), const_cast<char* const*>(plan.envp));
  }
  const int why = errno;
  [[maybe_unused]] const auto written = ::write(failed, &why, sizeof why);
  ::_exit(127);
}

/// Follows orders until the command has ended; kills it when the host is gone.
void stand_by(const ShimPlan& plan, pid_t command, int watch) {
  bool host_gone = false;
  while (true) {
    pollfd both[2] = {{watch, POLLIN, 0}, {host_gone ? -1 : plan.orders, POLLIN, 0}};
    if (::poll(both, 2, -1) < 0 && errno != EINTR) return;
    if (both[0].revents != 0) return;
    if (both[1].revents == 0) continue;
    char order = 0;
    const auto got = ::read(plan.orders, &order, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got == 1 && order == static_cast<char>(ShimOrder::terminate)) {
      ::kill(-command, SIGTERM);
    } else {
      host_gone = got != 1;  // or an order to kill
      ::kill(-command, SIGKILL);
    }
  }
}

[[noreturn]] void be_shim(const ShimPlan& plan) {
  const bool has_streams = take_streams(plan);
  const int why_not = errno;
  close_all_but_streams_and(plan.orders, plan.reports);
  // Signals for the host's group must not arrive.
  ::setsid();
  reset_signals();
  ::signal(SIGPIPE, SIG_IGN);
  if (!has_streams) {
    report(plan.reports, ShimReport::Kind::not_started, why_not);
    ::_exit(1);
  }
  int failed[2];
  if (::pipe2(failed, O_CLOEXEC) != 0) {
    report(plan.reports, ShimReport::Kind::not_started, errno);
    ::_exit(1);
  }
  // Not fork(), which takes the lock of malloc: a thread of the host may have held it when this process was
  // made.
  const auto command = static_cast<pid_t>(
      ::syscall(SYS_clone, static_cast<unsigned long>(SIGCHLD), nullptr, nullptr, nullptr, 0UL));
  if (command == 0) become_command(plan, failed[1]);
  if (command < 0) {
    report(plan.reports, ShimReport::Kind::not_started, errno);
    ::_exit(1);
  }
  ::setpgid(command, command);  // in both processes: either may be first
  ::close(failed[1]);
  // Only the command keeps its streams: the host waits for their end.
  ::close_range(STDIN_FILENO, STDERR_FILENO, 0);
  int why = 0;
  const bool started = ::read(failed[0], &why, sizeof why) != sizeof why;
  if (started) {
    const int watch = static_cast<int>(::syscall(SYS_pidfd_open, command, 0));
    if (watch >= 0) stand_by(plan, command, watch);
  }
  siginfo_t end{};
  while (::waitid(P_PID, static_cast<id_t>(command), &end, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  // Ends the rest of its group, which exists until the command is reaped.
  ::kill(-command, SIGKILL);
  ::waitpid(command, nullptr, 0);
  if (!started) {
    report(plan.reports, ShimReport::Kind::not_started, why);
  } else if (end.si_code == CLD_EXITED) {
    report(plan.reports, ShimReport::Kind::exited, end.si_status);
  } else {
    report(plan.reports, ShimReport::Kind::signalled, end.si_status);
  }
  ::_exit(0);
}

}  // namespace

int start_shim(const ShimPlan& plan) {
  // Signals wait until the child has put its own handling in place: a handler of the host must not run in it.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  // A fork without an exit signal: the host's SIGCHLD handling never sees it.
  const auto pid = static_cast<int>(::syscall(SYS_clone, 0UL, nullptr, nullptr, nullptr, 0UL));
  if (pid == 0) be_shim(plan);
  const int why = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = why;
  return pid;
}

}  // namespace duramen::inline v0::runtime
