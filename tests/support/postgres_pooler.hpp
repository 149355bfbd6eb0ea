// A pgbouncer in front of a server, for one test.
#pragma once

#include "support/temp_dir.hpp"

#include <string>
#include <sys/types.h>

namespace duramen::test {

class PostgresPooler {
 public:
  /// False where there is no pgbouncer.
  [[nodiscard]] static bool can_be_had();

  /// Starts it in front of the server with its socket in `server_directory`. `mode` is "session" or
  /// "transaction". Uses at most `sessions` sessions of the server. Throws std::runtime_error.
  PostgresPooler(const std::string& server_directory, const std::string& mode, int sessions);
  ~PostgresPooler();
  PostgresPooler(const PostgresPooler&) = delete;
  PostgresPooler& operator=(const PostgresPooler&) = delete;

  void start();
  /// With SIGKILL: its clients get no answer.
  void kill();

  /// Connects to the server through it.
  [[nodiscard]] std::string conninfo() const;

 private:
  TempDir temp_{"dm-pb"};
  std::string directory_ = temp_.path();
  std::string log_ = temp_.file("log");
  pid_t child_ = -1;
};

}  // namespace duramen::test

/// Skips a test where there is no pgbouncer.
#define DURAMEN_NEEDS_PGBOUNCER()                            \
  if (!duramen::test::PostgresPooler::can_be_had()) {        \
    GTEST_SKIP() << "no pgbouncer here (Debian: pgbouncer)"; \
  }                                                          \
  static_assert(true)
