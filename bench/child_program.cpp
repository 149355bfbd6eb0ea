#include "bench/child_program.hpp"

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

constexpr int patience_ms = 60'000;

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe available");
  constexpr int report_descriptor = ChildProgram::report_descriptor;
  // Not the number of the child's end: a descriptor duplicated onto itself would still be closed by exec.
  for (int& end : ends) {
    if (end != report_descriptor) continue;
    end = ::fcntl(end, F_DUPFD_CLOEXEC, report_descriptor + 1);
    ::close(report_descriptor);
  }
  return ends;
}

}  // namespace

ChildProgram::ChildProgram(std::vector<std::string> words, const std::string& secret) {
  const std::array<int, 2> control = make_pipe();
  const std::array<int, 2> reports = make_pipe();
  words.insert(words.begin(), "duramen_bench");
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
  if (error != 0) throw std::runtime_error("the other process could not be started");
  send_line(secret);
}

ChildProgram::~ChildProgram() {
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

void ChildProgram::send_line(const std::string& line) const {
  const std::string whole = line + "\n";
  if (::write(control_, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size())) {
    throw std::runtime_error("the other process does not listen");
  }
}

std::string ChildProgram::read_line() {
  while (true) {
    if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    pollfd readable{reports_, POLLIN, 0};
    if (::poll(&readable, 1, patience_ms) <= 0) throw std::runtime_error("the other process reports nothing");
    std::array<char, 512> bytes{};
    const ssize_t length = ::read(reports_, bytes.data(), bytes.size());
    if (length <= 0) throw std::runtime_error("the other process has ended");
    buffer_.append(bytes.data(), static_cast<std::size_t>(length));
  }
}

std::string read_secret() {
  std::string line;
  for (char byte = 0; ::read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n';) line += byte;
  return line;
}

}  // namespace bench
