#include "bench/workloads/worker_process.hpp"

#include "bench/workloads/cancel_worker.hpp"

#include <array>
#include <chrono>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char** environ;

namespace bench {

namespace {

constexpr int patience_ms = 20'000;
constexpr int report_descriptor = 3;  // in the worker

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe to be had");
  // Not the number that the worker's end is to get: duplicating a descriptor onto itself would leave it to be
  // closed.
  for (int& end : ends) {
    if (end != report_descriptor) continue;
    end = ::fcntl(end, F_DUPFD_CLOEXEC, report_descriptor + 1);
    ::close(report_descriptor);
  }
  return ends;
}

}  // namespace

WorkerProcess::WorkerProcess(const std::string& file, bool turns) {
  const std::array<int, 2> control = make_pipe();
  const std::array<int, 2> reports = make_pipe();
  std::vector<std::string> words{"duramen_bench", std::string(cancel_worker_word), file,
                                 std::to_string(report_descriptor)};
  if (turns) words.emplace_back("turns");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, control[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, reports[1], report_descriptor);
  const int error = ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(control[0]);
  ::close(reports[1]);
  control_ = control[1];
  reports_ = reports[0];
  if (error != 0) throw std::runtime_error("the worker process could not be started");
}

WorkerProcess::~WorkerProcess() {
  ::close(control_);
  for (int waited_ms = 0; pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == 0; ++waited_ms) {
    if (waited_ms == patience_ms) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  ::close(reports_);
}

void WorkerProcess::await_running(const std::string& instance) { (void)await("running", instance); }

Instant WorkerProcess::await_stopped(const std::string& instance) {
  return from_nanoseconds(std::stoll(await("stopped", instance)));
}

std::string WorkerProcess::await(const std::string& word, const std::string& instance) {
  const std::string wanted = word + " " + instance;
  while (true) {
    const std::string line = read_line();
    if (line == wanted) return "";
    if (line.starts_with(wanted + " ")) return line.substr(wanted.size() + 1);
  }
}

std::string WorkerProcess::read_line() {
  while (true) {
    if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    pollfd readable{reports_, POLLIN, 0};
    if (::poll(&readable, 1, patience_ms) <= 0) throw std::runtime_error("the worker process says nothing");
    std::array<char, 512> bytes{};
    const ssize_t length = ::read(reports_, bytes.data(), bytes.size());
    if (length <= 0) throw std::runtime_error("the worker process has ended");
    buffer_.append(bytes.data(), static_cast<std::size_t>(length));
  }
}

}  // namespace bench
