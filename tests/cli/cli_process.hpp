// The real program, run with arguments: its output and its end.
#pragma once

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <map>
#include <poll.h>
#include <pty.h>
#include <stdexcept>
#include <string>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace duramen::test {

struct CliResult {
  int exit = -1;  ///< 128 + the number of the signal that ended it
  std::string out;
  std::string err;
};

struct CliSetting {
  std::string input = {};                               ///< standard input
  std::string program = DURAMEN_CLI;                    ///< another program
  std::map<std::string, std::string> environment = {};  ///< in addition to the usual
  bool as_nobody = false;                               ///< drops root's rights; needs root
};

/// A running or ended program.
class CliProcess {
 public:
  /// With pipes, or on a terminal of `columns`; then all output is in `out`.
  explicit CliProcess(const std::vector<std::string>& arguments, const CliSetting& setting = {},
                      int columns = 0) {
    std::vector<std::string> words{setting.program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    if (columns == 0) {
      int in[2];
      int out[2];
      int err[2];
      if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) {
        throw std::runtime_error("pipe");
      }
      pid_ = ::fork();
      if (pid_ == 0) {
        ::dup2(in[0], 0);
        ::dup2(out[1], 1);
        ::dup2(err[1], 2);
        become(argv, setting);
      }
      ::close(in[0]);
      ::close(out[1]);
      ::close(err[1]);
      in_ = in[1];
      out_ = out[0];
      err_ = err[0];
      send(setting.input);
      close_input();
    } else {
      struct winsize size{};
      size.ws_col = static_cast<unsigned short>(columns);
      size.ws_row = 40;
      int terminal = -1;
      pid_ = ::forkpty(&terminal, nullptr, nullptr, &size);
      if (pid_ == 0) become(argv, setting);
      in_ = out_ = terminal;
      send(setting.input);
    }
  }
  ~CliProcess() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    if (in_ >= 0 && in_ != out_) ::close(in_);
    if (out_ >= 0) ::close(out_);
    if (err_ >= 0) ::close(err_);
  }
  CliProcess(const CliProcess&) = delete;
  CliProcess& operator=(const CliProcess&) = delete;

  void signal(int number) { ::kill(pid_, number); }
  /// Writes to its standard input; on a terminal this is typing.
  void type(const std::string& text) { send(text); }
  /// The output that was read so far.
  [[nodiscard]] const std::string& output() const { return result_.out; }
  /// Closes the reading end of its output.
  void close_output() {
    ::close(out_);
    out_ = -1;
  }
  /// Reads until its output contains `text` after position `from`; false if it ends before.
  bool wait_for_output(const std::string& text, std::size_t from = 0) {
    while (result_.out.find(text, from) == std::string::npos) {
      if (!read_some()) return false;
    }
    return true;
  }
  /// Reads the rest and waits for its end.
  CliResult finish() {
    while (read_some()) {
    }
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    result_.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result_;
  }

 private:
  [[noreturn]] static void become(std::vector<char*>& argv, const CliSetting& setting) {
    for (const char* name : {"DURAMEN_STORE", "COLUMNS", "NO_COLOR"}) ::unsetenv(name);
    ::setenv("TERM", "xterm", 1);
    for (const auto& [name, value] : setting.environment) ::setenv(name.c_str(), value.c_str(), 1);
    if (setting.as_nobody && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(126);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  void send(const std::string& text) {
    // Short enough for a pipe's buffer; a program that does not read must not end the test.
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    struct sigaction before{};
    ::sigaction(SIGPIPE, &ignore, &before);
    if (!text.empty() && ::write(in_, text.data(), text.size()) < 0 && errno != EPIPE)
      throw std::runtime_error("write");
    ::sigaction(SIGPIPE, &before, nullptr);
  }
  void close_input() {
    ::close(in_);
    in_ = -1;
  }
  bool read_some() {
    pollfd fds[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
    if (out_ < 0 && err_ < 0) return false;
    ::poll(fds, 2, -1);
    char buffer[65536];
    bool open = false;
    for (int i = 0; i < 2; ++i) {
      int& fd = i == 0 ? out_ : err_;
      if (fd < 0) continue;
      open = true;
      if (fds[i].revents == 0) continue;
      const ssize_t n = ::read(fd, buffer, sizeof buffer);
      if (n > 0) {
        (i == 0 ? result_.out : result_.err).append(buffer, static_cast<std::size_t>(n));
      } else {
        if (fd != in_)
          ::close(fd);
        else
          ::close(fd), in_ = -1;
        fd = -1;
      }
    }
    return open;
  }

  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  int err_ = -1;
  CliResult result_;
};

inline CliResult duramen(const std::vector<std::string>& arguments, const CliSetting& setting = {}) {
  return CliProcess(arguments, setting).finish();
}

/// The same on a terminal.
inline CliResult duramen_on_terminal(const std::vector<std::string>& arguments, int columns,
                                     const CliSetting& setting = {}) {
  return CliProcess(arguments, setting, columns).finish();
}

}  // namespace duramen::test
