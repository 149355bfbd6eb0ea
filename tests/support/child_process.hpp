// This test program or another one, started as another process. It reports in lines; the test kills it at the
// latest when it ends.
#pragma once

#include <cstdio>
#include <fcntl.h>
#include <signal.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace duramen::test {

/// In the child process: sends a line to the test.
inline void report(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

class ChildProcess {
 public:
  explicit ChildProcess(const std::vector<std::string>& arguments,
                        const std::string& program = "/proc/self/exe") {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    std::vector<char*> argv;
    argv.push_back(const_cast<char*>(program.c_str()));
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(fds[1], STDOUT_FILENO);
      ::execv(program.c_str(), argv.data());
      ::_exit(127);
    }
    ::close(fds[1]);
    output_ = ::fdopen(fds[0], "r");
  }
  ~ChildProcess() {
    kill();
    ::fclose(output_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The next line of its output; empty at the end of the output.
  [[nodiscard]] std::string read_line() {
    std::string line;
    for (int c = std::fgetc(output_); c != EOF && c != '\n'; c = std::fgetc(output_))
      line += static_cast<char>(c);
    return line;
  }
  void signal(int number) const { ::kill(pid_, number); }
  /// Waits for its end. Returns its exit status, or minus the signal that ended it.
  int wait() {
    if (pid_ > 0) {
      int status = 0;
      ::waitpid(pid_, &status, 0);
      status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
      pid_ = -1;
    }
    return status_;
  }
  /// Ends it as a crash would. When this returns, the process is gone.
  void kill() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    wait();
  }

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  std::FILE* output_ = nullptr;
};

}  // namespace duramen::test
