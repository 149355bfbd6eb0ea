#include "support/postgres_pooler.hpp"

#include "support/find_program.hpp"
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

constexpr const char* port = "6432";

}  // namespace

bool PostgresPooler::can_be_had() { return !find_program("pgbouncer").empty(); }

PostgresPooler::PostgresPooler(const std::string& server_directory, const std::string& mode, int sessions) {
  ::chmod(directory_.c_str(), 0777);
  std::ofstream{directory_ + "/pgbouncer.ini"} << "[databases]\n"
                                               << "postgres = host=" << server_directory
                                               << " dbname=postgres user=postgres\n"
                                               << "[pgbouncer]\n"
                                               << "listen_addr =\n"
                                               << "listen_port = " << port << "\n"
                                               << "unix_socket_dir = " << directory_ << "\n"
                                               << "pidfile = " << directory_ << "/pid\n"
                                               << "auth_type = any\n"
                                               << "pool_mode = " << mode << "\n"
                                               << "default_pool_size = " << sessions << "\n"
                                               << "server_login_retry = 1\n";
  start();
}

PostgresPooler::~PostgresPooler() { kill(); }

void PostgresPooler::start() {
  using namespace std::chrono_literals;
  child_ = launch_as_owner({find_program("pgbouncer"), "-q", directory_ + "/pgbouncer.ini"}, log_,
                           Orphan::is_interrupted);
  const std::string ready = PostgresCluster::get()->programs() + "/pg_isready";
  for (int i = 0; i < 3000; ++i) {
    int status = 1;
    ::waitpid(launch_as_owner({ready, "-q", "-h", directory_, "-p", port, "-d", "postgres"}, "/dev/null"),
              &status, 0);
    if (status == 0) return;
    if (::waitpid(child_, nullptr, WNOHANG) == child_) {
      child_ = -1;
      break;
    }
    std::this_thread::sleep_for(20ms);
  }
  std::ifstream log{log_};
  throw std::runtime_error("pgbouncer does not start: " +
                           std::string(std::istreambuf_iterator<char>{log}, {}));
}

void PostgresPooler::kill() {
  if (child_ <= 0) return;
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
  child_ = -1;
  for (const char* left : {"/pid", "/.s.PGSQL.6432"}) ::unlink((directory_ + left).c_str());
}

std::string PostgresPooler::conninfo() const {
  return "host=" + directory_ + " port=" + port + " user=postgres dbname=postgres";
}

}  // namespace duramen::test
