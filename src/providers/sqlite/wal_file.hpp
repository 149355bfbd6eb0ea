// Direct access to the WAL as a file, through SQLite's file system.
//
// The synced part of a WAL survives a power failure. When a sync fails, the system may treat the pages that
// it could not write as clean: the next sync succeeds, and the pages are on no disk. The remedy is to write
// the same bytes again. Readers see no difference.
#pragma once

#include <cstdint>

struct sqlite3_file;

namespace duramen::inline v0::sqlite::detail {

class Connection;

/// Valid within the write transaction that created it: no other connection appends. Its calls throw SqlError.
class WalFile {
 public:
  explicit WalFile(Connection& connection);

  [[nodiscard]] std::int64_t size();
  /// Writes its content again, in place.
  void rewrite();
  /// Appends zeros from `size` up to `wanted`. False if there is no room; then nothing has changed.
  bool grow(std::int64_t size, std::int64_t wanted);
  void sync();

 private:
  sqlite3_file* file_ = nullptr;
};

}  // namespace duramen::inline v0::sqlite::detail
