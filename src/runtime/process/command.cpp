#include "runtime/process/command.hpp"

#include "base/longest_wait.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

extern char** environ;

namespace duramen::inline v0::runtime {

namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::size_t longest_line = 4096;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { close(); }
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  void close() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

struct Pair {
  Fd ours;
  Fd theirs;
};

/// In a host that has closed its standard streams, a new descriptor may get the number of one of them. The
/// shim puts the command's streams there, and the host may write its log to that number.
void move_above_standard_streams(Fd& fd) {
  if (fd.get() > STDERR_FILENO || detail::mutant("pipes_take_standard_streams")) return;
  fd = Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!fd.is_open()) fail("fcntl");
}

Pair make_pair(const std::array<int, 2>& fds) {
  Pair pair{Fd(fds[0]), Fd(fds[1])};
  move_above_standard_streams(pair.ours);
  move_above_standard_streams(pair.theirs);
  ::fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK);
  return pair;
}

Pair make_pipe_from() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) fail("pipe");
  return make_pair(fds);
}

/// Sockets, not pipes: a write after the reader has closed need not raise SIGPIPE.
Pair make_channel_to() {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) fail("socketpair");
  return make_pair(fds);
}

/// As execvp would find it.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    std::string candidate = (folder.empty() ? std::string(".") : std::string(folder)) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    if (colon == std::string_view::npos) return name;
    rest.remove_prefix(colon + 1);
  }
}

std::vector<std::string> merged_environment(const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(added.begin(), added.end(),
                                      [name](const auto& variable) { return variable.first == name; });
    if (!replaced) all.emplace_back(text);
  }
  for (const auto& [name, value] : added) all.push_back(name + "=" + value);
  return all;
}

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> all;
  for (const std::string& text : texts) all.push_back(text.c_str());
  all.push_back(nullptr);
  return all;
}

/// Cuts the output of a process into lines.
class Lines {
 public:
  explicit Lines(const std::function<void(std::string_view)>& on_line) : on_line_(on_line) {}
  void take(std::string_view text) {
    for (const char c : text) {
      if (c != '\n') rest_ += c;
      if (c == '\n' || rest_.size() >= longest_line) flush();
    }
  }
  void flush() {
    if (!rest_.empty()) on_line_(rest_);
    rest_.clear();
  }

 private:
  const std::function<void(std::string_view)>& on_line_;
  std::string rest_;
};

/// Reads all available bytes; closes at the end of the stream.
template <class Take>
void drain(Fd& fd, Take take) {
  std::array<char, 16384> buffer;
  while (fd.is_open()) {
    const auto got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got > 0) {
      take(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else {
      if (got == 0 || errno != EAGAIN) fd.close();
      return;
    }
  }
}

class RunningCommand {
 public:
  RunningCommand(const Command& command, std::string_view input,
                 const std::function<void(std::string_view)>& on_line)
      : command_(command), input_(input), lines_(on_line) {
    start();
  }
  ~RunningCommand() {
    // The shim kills the group if it has not ended.
    orders_.close();
    ::waitpid(shim_, nullptr, __WALL);
  }
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

  CommandEnd run(const std::stop_token& stop) {
    Fd bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!bell.is_open()) fail("eventfd");
    move_above_standard_streams(bell);
    const std::stop_callback ring(stop, [&bell] {
      const std::uint64_t one = 1;
      [[maybe_unused]] const auto written = ::write(bell.get(), &one, sizeof one);
    });
    while (report_.is_open()) {
      std::array<pollfd, 5> all{{{report_.get(), POLLIN, 0},
                                 {output_.get(), POLLIN, 0},
                                 {errors_.get(), POLLIN, 0},
                                 {input_fd_.get(), POLLOUT, 0},
                                 {stopping_ ? -1 : bell.get(), POLLIN, 0}}};
      if (::poll(all.data(), all.size(), wait_ms()) < 0 && errno != EINTR) fail("poll");
      if (all[4].revents != 0) order_stop();
      if (kill_at_ && SteadyClock::now() >= *kill_at_) order(ShimOrder::kill);
      if (all[3].revents != 0) feed();
      if (all[1].revents != 0) read_output();
      if (all[2].revents != 0) drain(errors_, [this](std::string_view text) { lines_.take(text); });
      if (all[0].revents != 0) read_report();
    }
    // The rest of its own output. A child it left behind may still write; that output is not awaited.
    read_output();
    drain(errors_, [this](std::string_view text) { lines_.take(text); });
    lines_.flush();
    return std::move(end_);
  }

 private:
  void start() {
    const std::vector<std::string> environment = merged_environment(command_.environment);
    const std::vector<const char*> argv = pointers(command_.argv);
    const std::vector<const char*> envp = pointers(environment);
    const std::string program = find_program(command_.argv.front());
    Pair orders = make_channel_to();
    Pair report = make_pipe_from();
    Pair in = make_channel_to();
    Pair out = make_pipe_from();
    Pair err = make_pipe_from();
    ShimPlan plan{};
    plan.argv = argv.data();
    plan.envp = envp.data();
    plan.program = program.c_str();
    plan.directory = command_.directory.empty() ? nullptr : command_.directory.c_str();
    plan.input = in.theirs.get();
    plan.output = out.theirs.get();
    plan.errors = err.theirs.get();
    plan.orders = orders.theirs.get();
    plan.reports = report.theirs.get();
    shim_ = start_shim(plan);
    if (shim_ < 0) fail("clone");
    input_fd_ = std::move(in.ours);
    output_ = std::move(out.ours);
    errors_ = std::move(err.ours);
    orders_ = std::move(orders.ours);
    report_ = std::move(report.ours);
    if (input_.empty()) input_fd_.close();
  }

  [[nodiscard]] int wait_ms() const {
    if (!kill_at_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*kill_at_ - SteadyClock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, 60'000));
  }
  void order_stop() {
    stopping_ = true;
    order(ShimOrder::terminate);
    kill_at_ = SteadyClock::now() + base::no_longer(command_.kill_after);
  }
  void order(ShimOrder what) {
    if (what == ShimOrder::kill) kill_at_.reset();
    const char byte = static_cast<char>(what);
    [[maybe_unused]] const auto sent = ::send(orders_.get(), &byte, 1, MSG_NOSIGNAL);
  }
  void feed() {
    const auto sent = ::send(input_fd_.get(), input_.data(), input_.size(), MSG_NOSIGNAL);
    if (sent > 0) input_.remove_prefix(static_cast<std::size_t>(sent));
    // The command may not read all of its input.
    const bool broken = sent < 0 && errno != EAGAIN && errno != EINTR;
    if (broken || input_.empty()) input_fd_.close();
  }
  void read_output() {
    drain(output_, [this](std::string_view text) {
      if (end_.too_much_output) return;
      end_.output += text;
      if (end_.output.size() <= command_.max_output) return;
      end_.too_much_output = true;
      end_.output.clear();
      order(ShimOrder::kill);
    });
  }
  void read_report() {
    const auto got = ::read(report_.get(), &end_.report, sizeof end_.report);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    // A short report means that the shim was killed, and presumably its process group with it.
    if (got != sizeof end_.report) end_.report = {ShimReport::Kind::signalled, SIGKILL};
    report_.close();
  }

  const Command& command_;
  std::string_view input_;  // the part not written yet
  Lines lines_;
  pid_t shim_ = -1;
  Fd input_fd_;
  Fd output_;
  Fd errors_;
  Fd orders_;
  Fd report_;
  bool stopping_ = false;
  std::optional<SteadyClock::time_point> kill_at_;
  CommandEnd end_;
};

}  // namespace

CommandEnd run_command(const Command& command, std::string_view input, const std::stop_token& stop,
                       const std::function<void(std::string_view line)>& on_error_line) {
  return RunningCommand(command, input, on_error_line).run(stop);
}

}  // namespace duramen::inline v0::runtime
