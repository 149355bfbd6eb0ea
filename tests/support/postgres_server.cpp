#include "support/postgres_server.hpp"

#include "support/postgres_cluster.hpp"
#include "support/postgres_process.hpp"

#include <chrono>
#include <fstream>
#include <signal.h>
#include <stdexcept>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace duramen::test {

namespace {

using namespace std::chrono_literals;

std::string program(const std::string& name) { return PostgresCluster::get()->programs() + "/" + name; }

pid_t postmaster_of(const std::string& data) {
  std::ifstream file{data + "/postmaster.pid"};
  pid_t pid = 0;
  file >> pid;
  return pid;
}

}  // namespace

PostgresServer::PostgresServer(Empty, int port) : port_(port) { ::chmod(directory_.c_str(), 0777); }

PostgresServer::PostgresServer(int port) : PostgresServer(Empty{}, port) {
  run_as_owner({"cp", "-a", PostgresCluster::get()->data_template(), data()}, directory_ + "/log");
}

PostgresServer PostgresServer::standby_of(PostgresServer& primary, int port) {
  PostgresServer standby{Empty{}, port};
  run_as_owner({program("pg_basebackup"), "-h", primary.directory_, "-p", std::to_string(primary.port_), "-U",
                "postgres", "-D", standby.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync"},
               standby.directory_ + "/log");
  standby.start();
  return standby;
}

PostgresServer::PostgresServer(PostgresServer&& other) noexcept
    : temp_(std::move(other.temp_)),
      directory_(std::exchange(other.directory_, {})),
      port_(other.port_),
      child_(std::exchange(other.child_, -1)),
      settings_(std::move(other.settings_)) {}

PostgresServer::~PostgresServer() {
  if (child_ > 0) stop(Stop::immediate);
}

std::string PostgresServer::conninfo() const {
  return "host=" + directory_ + " port=" + std::to_string(port_) + " user=postgres dbname=postgres";
}

bool PostgresServer::is_ready() const {
  int status = 0;
  ::waitpid(launch_as_owner({program("pg_isready"), "-q", "-h", directory_, "-p", std::to_string(port_)},
                            directory_ + "/log"),
            &status, 0);
  return status == 0;
}

void PostgresServer::allow(const std::string& line) {
  const std::string path = data() + "/pg_hba.conf";
  std::ifstream before{path};
  const std::string rest{std::istreambuf_iterator<char>{before}, {}};
  std::ofstream{path} << line << "\n" << rest;
}

void PostgresServer::start(const std::vector<std::string>& settings) {
  if (!settings.empty()) settings_ = settings;
  std::vector<std::string> command{
      program("postgres"),    "-D", data(),     "-k", directory_,           "-p", std::to_string(port_), "-c",
      "listen_addresses=",    "-c", "fsync=on", "-c", "max_connections=60", "-c", "shared_buffers=64MB", "-c",
      "logging_collector=off"};
  for (const std::string& setting : settings_) {
    command.emplace_back("-c");
    command.push_back(setting);
  }
  // Sessions of a killed server may live on for a moment and keep a new one from starting.
  for (int attempt = 0; attempt < 200; ++attempt) {
    child_ = launch_as_owner(command, directory_ + "/log");
    while (::waitpid(child_, nullptr, WNOHANG) == 0) {
      if (is_ready()) return;
      std::this_thread::sleep_for(20ms);
    }
    child_ = -1;
    std::this_thread::sleep_for(50ms);
  }
  throw std::runtime_error("the server does not start, see " + directory_ + "/log");
}

void PostgresServer::stop(Stop how) {
  const pid_t postmaster = postmaster_of(data());
  const int signal = how == Stop::fast ? SIGINT : how == Stop::immediate ? SIGQUIT : SIGKILL;
  if (postmaster > 0) ::kill(postmaster, signal);
  ::waitpid(child_, nullptr, 0);
  child_ = -1;
}

void PostgresServer::promote() {
  run_as_owner({program("pg_ctl"), "promote", "-w", "-D", data()}, directory_ + "/log");
}

}  // namespace duramen::test
