// A PostgreSQL server for one test, which can stop, kill, follow and promote it.
#pragma once

#include "support/temp_dir.hpp"

#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace duramen::test {

class PostgresServer {
 public:
  enum class Stop {
    fast,       ///< ends the sessions, then the server: nothing to recover
    immediate,  ///< as after a crash: the next start recovers
    kill,       ///< SIGKILL
  };

  /// Not started. Copies the empty data directory of the shared cluster. Throws std::runtime_error.
  explicit PostgresServer(int port = 5432);
  /// A started standby of `primary`, which waits for it at every commit from now on.
  static PostgresServer standby_of(PostgresServer& primary, int port);
  ~PostgresServer();
  PostgresServer(PostgresServer&& other) noexcept;
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  /// Adds a first line to pg_hba.conf. Call it before start().
  void allow(const std::string& line);
  void start(const std::vector<std::string>& settings = {});
  void stop(Stop how);
  /// A standby becomes the primary.
  void promote();

  [[nodiscard]] std::string conninfo() const;
  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
  [[nodiscard]] int port() const noexcept { return port_; }
  /// The file of its log.
  [[nodiscard]] std::string log() const { return directory_ + "/log"; }

 private:
  struct Empty {};
  PostgresServer(Empty, int port);
  [[nodiscard]] std::string data() const { return directory_ + "/data"; }
  [[nodiscard]] bool is_ready() const;

  std::unique_ptr<TempDir> temp_ = std::make_unique<TempDir>("dm-pg");
  std::string directory_ = temp_->path();
  int port_;
  pid_t child_ = -1;
  std::vector<std::string> settings_;
};

}  // namespace duramen::test
