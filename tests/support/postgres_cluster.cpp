#include "support/postgres_cluster.hpp"

#include "providers/postgres/schema.hpp"

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace duramen::test {

namespace {

using namespace std::chrono_literals;
namespace detail = postgres::detail;

std::string first_line(const std::string& path) {
  std::ifstream file{path};
  std::string line;
  std::getline(file, line);
  return line;
}

/// In memory if possible: a slow disk would delay hundreds of cases. Tests that break their server start
/// their own.
std::filesystem::path place() {
  const std::filesystem::path memory = "/dev/shm";
  if (::access(memory.c_str(), W_OK | X_OK) == 0) return memory;
  return std::filesystem::temp_directory_path();
}

/// False for the socket of a server that died.
bool accepts_connections(const std::string& directory) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = directory + "/.s.PGSQL.5432";
  if (path.size() >= sizeof address.sun_path) return false;
  path.copy(address.sun_path, path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return connected;
}

/// The directory of the server's programs; empty if the server is not ready. The mark of a server that was
/// killed together with its keeper does not count.
std::string programs_of_ready_server(const std::string& directory) {
  std::string programs = first_line(directory + "/ready");
  if (!programs.empty() && !accepts_connections(directory)) programs.clear();
  return programs;
}

/// Starts the script that keeps the server, detached: it outlives this process if others use it.
void start_keeper(const std::string& directory) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::fork() != 0) ::_exit(0);
    ::setsid();
    const int null = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
    for (int fd = 3; fd < 256; ++fd) ::close(fd);
    ::execl("/bin/bash", "bash", DURAMEN_POSTGRES_KEEPER, directory.c_str(), nullptr);
    ::_exit(127);
  }
  if (child > 0) ::waitpid(child, nullptr, 0);
}

}  // namespace

PostgresCluster::PostgresCluster(std::string directory, std::string programs)
    : directory_(std::move(directory)),
      programs_(std::move(programs)),
      conninfo_("host=" + directory_ + " user=postgres dbname=postgres") {}

const PostgresCluster* PostgresCluster::get() {
  static const std::unique_ptr<PostgresCluster> cluster = [] {
    std::string why;
    auto started = start(why);
    const_cast<std::string&>(why_not()) = why;
    return started;
  }();
  return cluster.get();
}

const std::string& PostgresCluster::why_not() {
  static std::string reason;
  return reason;
}

std::unique_ptr<PostgresCluster> PostgresCluster::start(std::string& why_not) {
  // One per build directory, user and DURAMEN_TEST_CLUSTER; the path of a socket must be short.
  const char* own = std::getenv("DURAMEN_TEST_CLUSTER");
  const std::size_t build = std::hash<std::string>{}(DURAMEN_BUILD_DIRECTORY + std::string(own ? own : ""));
  char name[64];
  std::snprintf(name, sizeof name, "duramen-pg-%u-%08zx", static_cast<unsigned>(::getuid()),
                build & 0xffffffff);
  const std::string directory = (place() / name).string();
  ::mkdir(directory.c_str(), 0755);

  // Held until this process ends or dies.
  const int users = ::open((directory + "/users").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (users < 0) {
    why_not = "cannot write to " + directory;
    return nullptr;
  }
  for (int attempt = 0; attempt < 3; ++attempt) {
    ::flock(users, LOCK_SH);
    if (const std::string programs = programs_of_ready_server(directory); !programs.empty()) {
      return std::unique_ptr<PostgresCluster>(new PostgresCluster(directory, programs));
    }
    std::error_code ignored;
    std::filesystem::remove(directory + "/failed", ignored);
    start_keeper(directory);
    for (int i = 0; i < 1200; ++i) {
      if (const std::string programs = programs_of_ready_server(directory); !programs.empty()) {
        return std::unique_ptr<PostgresCluster>(new PostgresCluster(directory, programs));
      }
      why_not = first_line(directory + "/failed");
      if (!why_not.empty()) return nullptr;
      std::this_thread::sleep_for(50ms);
      // An old keeper may have been about to stop when ours found it.
      if (i % 100 == 99) start_keeper(directory);
    }
    ::flock(users, LOCK_UN);
  }
  why_not = "the server did not start in a minute";
  return nullptr;
}

namespace {

/// Changes with the schema: during development a server may still hold an older form.
std::string schema_prefix() {
  std::string all;
  for (const detail::Migration& migration : detail::migrations()) {
    for (const std::string_view file : migration.files) all += file;
  }
  char name[40];
  std::snprintf(name, sizeof name, "test_%08zx_", std::hash<std::string>{}(all) & 0xffffffff);
  return name;
}

}  // namespace

PostgresSchema::PostgresSchema(const std::string& conninfo) : conninfo_(conninfo) {
  // This session holds the lock on the schema's number. Tests that end sessions of the store must spare it.
  connection_ = std::make_unique<detail::Connection>(
      detail::ConnInfo{conninfo + " application_name=duramen-test"}, 30s, false, nullptr);
  for (int number = 1;; ++number) {
    detail::Parameters lock;
    lock.number(0x7465'7374'0000 + number);
    if (!connection_->run("SELECT pg_try_advisory_lock($1)", lock).flag(0, 0)) continue;
    name_ = schema_prefix() + std::to_string(number);
    break;
  }
  detail::open_schema(*connection_, name_, true);
  std::string empty_all;
  for (const char* table : {"instances", "executions", "history", "key_values", "queue", "received_messages",
                            "parked_messages", "worker_queue", "stolen_leases", "sessions", "nodes"}) {
    empty_all += "DELETE FROM " + name_ + "." + table + ";";
  }
  empty_all += "UPDATE " + name_ + ".settings SET value = 1 WHERE name = 'write_level';";
  connection_->script(empty_all);
}

std::int64_t PostgresSchema::number(const std::string& sql) { return connection_->run(sql).integer(0, 0); }

}  // namespace duramen::test
