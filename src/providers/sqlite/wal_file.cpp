#include "providers/sqlite/wal_file.hpp"

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/error.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <string>
#include <vector>

namespace duramen::inline v0::sqlite::detail {

namespace {

constexpr std::int64_t piece = 64 << 10;

void require(int code) {
  if (code != SQLITE_OK) throw SqlError(code, sqlite3_errstr(code));
}

}  // namespace

WalFile::WalFile(Connection& connection) {
  require(sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &file_));
  if (file_ == nullptr || file_->pMethods == nullptr) require(SQLITE_CANTOPEN);
}

std::int64_t WalFile::size() {
  sqlite3_int64 size = 0;
  require(file_->pMethods->xFileSize(file_, &size));
  return size;
}

void WalFile::rewrite() {
  const std::int64_t end = size();
  std::vector<char> bytes(static_cast<std::size_t>(std::min(piece, end)));
  for (std::int64_t at = 0; at < end; at += piece) {
    const int length = static_cast<int>(std::min(piece, end - at));
    require(file_->pMethods->xRead(file_, bytes.data(), length, at));
    require(file_->pMethods->xWrite(file_, bytes.data(), length, at));
  }
}

bool WalFile::grow(std::int64_t size, std::int64_t wanted) {
  if (size >= wanted) return false;
  const std::vector<char> zeros(static_cast<std::size_t>(std::min(piece, wanted - size)));
  for (std::int64_t at = size; at < wanted; at += piece) {
    const int length = static_cast<int>(std::min(piece, wanted - at));
    if (file_->pMethods->xWrite(file_, zeros.data(), length, at) != SQLITE_OK) {
      // Leaves the remaining room to commits.
      file_->pMethods->xTruncate(file_, size);
      return false;
    }
  }
  return true;
}

void WalFile::sync() { require(file_->pMethods->xSync(file_, SQLITE_SYNC_NORMAL)); }

}  // namespace duramen::inline v0::sqlite::detail
