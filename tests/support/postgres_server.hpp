// A PostgreSQL server of a test's own, to be stopped, killed, followed and promoted.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace duramen::test {

class PostgresServer {
 public:
  enum class Stop {
    fast,       ///< sessions are ended, then the server: nothing to recover
    immediate,  ///< as after a crash: the log is played back at the next start
    kill,       ///< the same without a word
  };

  /// Not started yet. Needs the shared cluster, whose empty data directory it copies. Throws
  /// std::runtime_error.
  explicit PostgresServer(int port = 5432);
  /// A standby of `primary`, which waits for it at every commit from now on. Started.
  static PostgresServer standby_of(PostgresServer& primary, int port);
  ~PostgresServer();
  PostgresServer(PostgresServer&& other) noexcept;
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  /// One more line of pg_hba.conf, before all others. To be said before the server is started.
  void allow(const std::string& line);
  void start(const std::vector<std::string>& settings = {});
  void stop(Stop how);
  /// A standby becomes the primary.
  void promote();

  [[nodiscard]] std::string conninfo() const;
  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
  [[nodiscard]] int port() const noexcept { return port_; }
  /// Where what it says is written.
  [[nodiscard]] std::string log() const { return directory_ + "/log"; }

 private:
  struct Empty {};
  PostgresServer(Empty, int port);
  [[nodiscard]] std::string data() const { return directory_ + "/data"; }
  [[nodiscard]] bool is_ready() const;

  std::string directory_;
  int port_;
  pid_t child_ = -1;
  std::vector<std::string> settings_;
};

}  // namespace duramen::test
