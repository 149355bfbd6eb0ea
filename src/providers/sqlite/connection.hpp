// A connection to the file, with the settings of every connection of a store.
#pragma once

#include <cstdint>
#include <string>

struct sqlite3;

namespace duramen::inline v0::sqlite::detail {

/// For one thread at a time; the owner guards it.
class Connection {
 public:
  enum class Mode { read_write, read_only };

  /// Only a writing connection creates the file.
  Connection(const std::string& path, Mode mode);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] sqlite3* handle() const noexcept { return connection_; }

  /// The absolute path of the file; empty in memory.
  [[nodiscard]] std::string file() const;

  /// Runs statements and ignores their rows.
  void execute(const std::string& sql);
  /// The first column of the first row of a query, as a number; 0 if there is none.
  [[nodiscard]] std::int64_t query_number(const std::string& sql);
  [[nodiscard]] std::string query_text(const std::string& sql);

  /// Rows inserted, updated and deleted by this connection.
  [[nodiscard]] std::uint64_t total_changes() const;
  [[nodiscard]] bool in_transaction() const;

  /// Changes with every commit, also of other connections, that this connection has seen. Nearly free.
  [[nodiscard]] std::uint32_t content_version() const;

  /// If true, as by default, the last connection that closes checkpoints the WAL and removes it.
  void checkpoint_on_close(bool does);

 private:
  sqlite3* connection_ = nullptr;
};

}  // namespace duramen::inline v0::sqlite::detail
