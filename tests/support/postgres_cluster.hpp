// PostgreSQL for tests: one server for all test processes, started by the first and stopped soon after the
// last.
#pragma once

#include "providers/postgres/connection.hpp"
#include <duramen/postgres.hpp>

#include <memory>
#include <optional>
#include <string>

namespace duramen::test {

/// The server that all tests share. Lives as long as any process uses it.
class PostgresCluster {
 public:
  /// Starts it if necessary. Null without PostgreSQL; why_not() returns the reason.
  [[nodiscard]] static const PostgresCluster* get();
  [[nodiscard]] static const std::string& why_not();

  [[nodiscard]] const std::string& conninfo() const noexcept { return conninfo_; }
  /// The directory of its socket.
  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
  /// The directory of initdb, postgres and the other programs.
  [[nodiscard]] const std::string& programs() const noexcept { return programs_; }
  /// An unused data directory, to copy.
  [[nodiscard]] std::string data_template() const { return directory_ + "/template"; }

 private:
  PostgresCluster(std::string directory, std::string programs);
  static std::unique_ptr<PostgresCluster> start(std::string& why_not);

  std::string directory_;
  std::string programs_;
  std::string conninfo_;
};

/// A schema for one test, empty at first. Later tests use it again, because creating one takes a while.
class PostgresSchema {
 public:
  /// At `conninfo`: the shared server, or a server of the test.
  explicit PostgresSchema(const std::string& conninfo);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& conninfo() const noexcept { return conninfo_; }
  [[nodiscard]] postgres::Options options() const {
    postgres::Options options;
    options.conninfo = conninfo_;
    options.schema = name_;
    return options;
  }
  /// Reads the database without the store.
  [[nodiscard]] postgres::detail::Connection& connection() noexcept { return *connection_; }
  [[nodiscard]] std::int64_t number(const std::string& sql);

 private:
  std::string conninfo_;
  std::string name_;
  std::unique_ptr<postgres::detail::Connection> connection_;  // holds the lock on the schema
};

}  // namespace duramen::test

/// Skips a test where there is no PostgreSQL.
#define DURAMEN_NEEDS_POSTGRES()                                                         \
  if (duramen::test::PostgresCluster::get() == nullptr) {                                \
    GTEST_SKIP() << "no PostgreSQL here: " << duramen::test::PostgresCluster::why_not(); \
  }                                                                                      \
  static_assert(true)
