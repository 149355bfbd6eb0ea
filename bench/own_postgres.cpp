#include "bench/own_postgres.hpp"

#include "support/postgres_process.hpp"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <signal.h>
#include <stdexcept>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace bench {

namespace {

namespace test = duramen::test;

std::filesystem::path make_directory(const std::filesystem::path& parent, const char* name) {
  std::string pattern = (parent / name).string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw std::runtime_error("cannot make a directory in " + parent.string());
  test::give_to_owner(pattern);
  return pattern;
}

std::string last_line(const std::filesystem::path& file) {
  std::ifstream text(file);
  std::string last;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

/// The user of the server needs access to its data.
void let_through(const std::filesystem::path& directory) {
  struct stat status{};
  if (::stat(directory.c_str(), &status) == 0) ::chmod(directory.c_str(), (status.st_mode & 07777) | 0111);
}

}  // namespace

OwnPostgres::OwnPostgres(const std::filesystem::path& directory) {
  const std::string programs = test::find_postgres_programs();
  if (programs.empty()) {
    throw std::runtime_error(
        "PostgreSQL 15 or newer is not installed (Debian: postgresql-15); "
        "--store postgres://... uses a server elsewhere");
  }
  let_through(directory);
  directory_ = make_directory(directory, "postgres-XXXXXX");
  try {
    socket_ = make_directory(std::filesystem::temp_directory_path(), "dm-bench-XXXXXX");
    start(programs);
  } catch (...) {
    stop();
    throw;
  }
}

OwnPostgres::~OwnPostgres() { stop(); }

void OwnPostgres::start(const std::string& programs) {
  const std::string data = (directory_ / "data").string();
  const std::string log = (directory_ / "log").string();
  try {
    test::run_as_owner({programs + "/initdb", "-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8",
                        "--locale=C.UTF-8", "--no-instructions"},
                       log);
  } catch (const std::exception&) {
    throw std::runtime_error("initdb failed: " + last_line(log) +
                             "; if the directory is closed to the user 'postgres', "
                             "name another with --dir");
  }
  server_ = test::launch_as_owner(
      {programs + "/postgres", "-D", data, "-k", socket_.string(), "-c", "listen_addresses=", "-c",
       "fsync=on", "-c", "synchronous_commit=on", "-c", "logging_collector=off"},
      log, test::Orphan::is_interrupted);
  for (int waited = 0; waited < 600; ++waited) {
    if (::waitpid(server_, nullptr, WNOHANG) != 0) {
      server_ = -1;
      break;
    }
    int status = 0;
    ::waitpid(test::launch_as_owner({programs + "/pg_isready", "-q", "-h", socket_.string()}, log), &status,
              0);
    if (status == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  }
  throw std::runtime_error("the server did not start: " + last_line(log));
}

void OwnPostgres::stop() noexcept {
  if (server_ > 0) {
    ::kill(server_, SIGINT);
    ::waitpid(server_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
  if (!socket_.empty()) std::filesystem::remove_all(socket_, ignored);
}

std::string OwnPostgres::conninfo() const {
  return "host=" + socket_.string() + " user=postgres dbname=postgres";
}

}  // namespace bench
