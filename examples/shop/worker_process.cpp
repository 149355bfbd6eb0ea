#include "worker_process.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace shop {

using namespace std::chrono_literals;

WorkerProcess::WorkerProcess(std::vector<std::string> arguments) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");

  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, pipe[0], STDIN_FILENO);
  const int error = ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[0]);
  input_ = pipe[1];
  if (error != 0) {
    ::close(input_);
    throw std::system_error(error, std::generic_category(), "the worker cannot be started");
  }
}

bool WorkerProcess::has_ended() {
  if (!ended_) ended_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
  return ended_;
}

void WorkerProcess::stop() {
  if (input_ >= 0) ::close(std::exchange(input_, -1));
  const auto patience = std::chrono::steady_clock::now() + 60s;
  while (!has_ended() && std::chrono::steady_clock::now() < patience) std::this_thread::sleep_for(5ms);
  if (ended_) return;
  ::kill(pid_, SIGKILL);
  ended_ = ::waitpid(pid_, &status_, 0) == pid_;
}

bool WorkerProcess::was_killed() const {
  return ended_ && WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL;
}
bool WorkerProcess::ended_well() const { return ended_ && WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }

void wait_for_end_of_input() {
  char byte = 0;
  ssize_t count = 0;
  do {
    count = ::read(STDIN_FILENO, &byte, 1);
  } while (count > 0 || (count < 0 && errno == EINTR));
}

}  // namespace shop
