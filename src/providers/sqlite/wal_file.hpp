// The write-ahead log as a file, past SQLite's own use of it but through SQLite's file system.
//
// A log survives a power failure as far as it was synced. When a sync fails, the system may take the pages it
// could not write for clean: the next sync succeeds and they are nowhere. What helps is to write the same
// bytes again. They are the same, so that nobody who reads meanwhile sees a difference.
#pragma once

#include <cstdint>

struct sqlite3_file;

namespace duramen::inline v0::sqlite::detail {

class Connection;

/// Valid within the write transaction in which it was made: nobody appends meanwhile. Its calls throw
/// SqlError.
class WalFile {
 public:
  explicit WalFile(Connection& connection);

  [[nodiscard]] std::int64_t size();
  /// Writes what is in it once more, in place.
  void rewrite();
  /// Appends zeros from `size` up to `wanted`. True if it did; if there is no room, everything is as before.
  bool grow(std::int64_t size, std::int64_t wanted);
  void sync();

 private:
  sqlite3_file* file_ = nullptr;
};

}  // namespace duramen::inline v0::sqlite::detail
