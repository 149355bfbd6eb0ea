#include "support/postgres_network.hpp"

#include "support/find_program.hpp"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace duramen::test {

namespace {

/// Runs `ip` with these arguments; false if it fails. Its messages are dropped.
bool ip(const std::string& words) {
  std::vector<std::string> parts{find_program("ip")};
  std::istringstream stream{words};
  for (std::string word; stream >> word;) parts.push_back(word);
  std::vector<char*> arguments;
  for (std::string& part : parts) arguments.push_back(part.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  ::posix_spawn_file_actions_init(&quiet);
  ::posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int failed = ::posix_spawn(&child, arguments[0], &quiet, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&quiet);
  int status = 1;
  if (failed == 0) ::waitpid(child, &status, 0);
  return status == 0;
}

void must(const std::string& words) {
  if (!ip(words)) throw std::runtime_error("ip " + words + " failed");
}

}  // namespace

bool PostgresNetwork::can_be_had() {
  if (::geteuid() != 0 || find_program("ip").empty()) return false;
  try {
    const PostgresNetwork probe{1};
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

PostgresNetwork::PostgresNetwork(int machines) : machines_(machines) {
  // No other running test has these names and addresses. The addresses are reserved for network tests; an
  // interface name has at most fifteen letters.
  const int id = ::getpid();
  name_ = "dm" + std::to_string(id % 1'000'000);
  prefix_ = "198." + std::to_string(18 + id / 250 % 2) + "." + std::to_string(id % 250) + ".";
  try {
    must("link add " + name_ + "b type bridge");
    must("addr add " + address() + "/24 dev " + name_ + "b");
    must("link set " + name_ + "b up");
    for (int i = 0; i < machines_; ++i) {
      const std::string here = name_ + "h" + std::to_string(i);
      const std::string there = name_ + "m" + std::to_string(i);
      must("netns add " + machine(i));
      must("link add " + here + " type veth peer name " + there + " netns " + machine(i));
      must("link set " + here + " master " + name_ + "b up");
      must("-n " + machine(i) + " addr add " + prefix_ + std::to_string(i + 2) + "/24 dev " + there);
      must("-n " + machine(i) + " link set " + there + " up");
    }
  } catch (...) {
    remove();
    throw;
  }
}

PostgresNetwork::~PostgresNetwork() { remove(); }

void PostgresNetwork::remove() noexcept {
  try {
    for (int i = 0; i < machines_; ++i) {
      ip("link del " + name_ + "h" + std::to_string(i));
      ip("netns del " + machine(i));
    }
    ip("link del " + name_ + "b");
  } catch (const std::exception&) {
    // Leftovers stay.
  }
}

// The port goes down but stays in the bridge. A bridge may have the address of one of its ports, and would
// still accept packets of that port.
void PostgresNetwork::cut_off(int number) {
  must("link set " + name_ + "h" + std::to_string(number) + " down");
}

void PostgresNetwork::heal(int number) { must("link set " + name_ + "h" + std::to_string(number) + " up"); }

bool PostgresNetwork::enter(const std::string& machine) {
  const int fd = ::open(("/run/netns/" + machine).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool entered = ::setns(fd, CLONE_NEWNET) == 0;
  ::close(fd);
  return entered;
}

}  // namespace duramen::test
