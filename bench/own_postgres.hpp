// A PostgreSQL server for one benchmark, with its own data directory.
#pragma once

#include <filesystem>
#include <string>
#include <sys/types.h>

namespace bench {

class OwnPostgres {
 public:
  /// Creates a cluster below `directory` and starts a server on it that syncs every commit. All other
  /// settings are the defaults. Throws std::runtime_error.
  explicit OwnPostgres(const std::filesystem::path& directory);
  /// Stops it and removes its data.
  ~OwnPostgres();
  OwnPostgres(const OwnPostgres&) = delete;
  OwnPostgres& operator=(const OwnPostgres&) = delete;

  [[nodiscard]] std::string conninfo() const;

 private:
  void start(const std::string& programs);
  void stop() noexcept;

  std::filesystem::path directory_;
  std::filesystem::path socket_;  // its path must be short
  pid_t server_ = -1;
};

}  // namespace bench
