#include "support/postgres_process.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <grp.h>
#include <optional>
#include <pwd.h>
#include <signal.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace duramen::test {

namespace {

struct Owner {
  uid_t user;
  gid_t group;
};

/// Absent: the current user may run a server.
std::optional<Owner> other_owner() {
  if (::geteuid() != 0) return std::nullopt;
  const passwd* const entry = ::getpwnam("postgres");
  if (entry == nullptr) {
    throw std::runtime_error("running as root, and there is no user 'postgres' to run a server as");
  }
  return Owner{entry->pw_uid, entry->pw_gid};
}

}  // namespace

std::string find_postgres_programs() {
  std::vector<std::string> places;
  if (const char* named = std::getenv("DURAMEN_POSTGRES_BIN")) {
    places.emplace_back(named);
  } else {
    for (const char* version : {"18", "17", "16", "15"}) {
      places.push_back(std::string("/usr/lib/postgresql/") + version + "/bin");
    }
  }
  for (const std::string& place : places) {
    if (::access((place + "/initdb").c_str(), X_OK) == 0) return place;
  }
  return {};
}

pid_t launch_as_owner(const std::vector<std::string>& command, const std::string& log, Orphan orphan) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const std::optional<Owner> owner = other_owner();
  const pid_t child = ::fork();
  if (child == 0) {
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, 0);
    ::dup2(out, 1);
    ::dup2(out, 2);
    for (int fd = 3; fd < 256; ++fd) ::close(fd);
    ::setpgid(0, 0);
    if (owner &&
        (::setgroups(0, nullptr) != 0 || ::setgid(owner->group) != 0 || ::setuid(owner->user) != 0)) {
      ::_exit(126);
    }
    // After the change of user, which resets it.
    if (orphan == Orphan::is_interrupted) ::prctl(PR_SET_PDEATHSIG, SIGINT);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  return child;
}

void run_as_owner(const std::vector<std::string>& command, const std::string& log) {
  int status = 0;
  ::waitpid(launch_as_owner(command, log), &status, 0);
  if (status != 0) throw std::runtime_error(command.front() + " failed, see " + log);
}

void give_to_owner(const std::filesystem::path& directory) {
  const std::optional<Owner> owner = other_owner();
  if (owner && ::chown(directory.c_str(), owner->user, owner->group) != 0) {
    throw std::runtime_error(directory.string() + " cannot be given to the user 'postgres'");
  }
}

}  // namespace duramen::test
