// A connection to the file, set up the way every connection of a store is.
#pragma once

#include <cstdint>
#include <string>

struct sqlite3;

namespace duramen::inline v0::sqlite::detail {

/// Used by one thread at a time; whoever owns it guards it.
class Connection {
 public:
  enum class Mode { read_write, read_only };

  /// Only one that writes creates the file.
  Connection(const std::string& path, Mode mode);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] sqlite3* handle() const noexcept { return connection_; }

  /// The file with its whole path, whatever the working directory is later; empty in memory.
  [[nodiscard]] std::string file() const;

  /// Runs statements that return nothing of interest.
  void execute(const std::string& sql);
  /// The first column of the first row of a query, as a number; 0 if there is none.
  [[nodiscard]] std::int64_t query_number(const std::string& sql);
  [[nodiscard]] std::string query_text(const std::string& sql);

  /// Rows inserted, updated and deleted since the connection was made.
  [[nodiscard]] std::uint64_t total_changes() const;
  [[nodiscard]] bool in_transaction() const;

  /// Whether the last connection to close moves the log into the file and removes it, as it normally does.
  void checkpoint_on_close(bool does);

 private:
  sqlite3* connection_ = nullptr;
};

}  // namespace duramen::inline v0::sqlite::detail
