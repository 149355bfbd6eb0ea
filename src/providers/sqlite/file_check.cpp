#include "providers/sqlite/file_check.hpp"

#include "providers/sqlite/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace duramen::inline v0::sqlite::detail {

namespace {

using Header = std::array<unsigned char, 32>;  // of a WAL

[[noreturn]] void refuse(ErrorCode code, const std::string& message) {
  throw StoreError({code, "", message, false});
}

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

std::string directory_of(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

bool may_write(const std::string& path) { return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0; }

/// The header, filled with zeros if the file is shorter. Absent if it cannot be read: SQLite reports that.
std::optional<Header> header_of_log(const std::string& path) {
  // Only the WAL may be opened without SQLite. Closing the database file here would release the locks that
  // other connections of this process hold on it.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  Header bytes{};
  const ssize_t length = ::pread(file, bytes.data(), bytes.size(), 0);
  ::close(file);
  if (length < 0) return std::nullopt;
  return bytes;
}

/// Reads a big-endian number.
std::uint32_t number_at(const Header& header, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = at; i < at + 4; ++i) number = (number << 8u) | header[i];
  return number;
}

void check_place(const std::string& path) {
  const std::string directory = directory_of(path);
  const auto status = status_of(directory);
  if (!status) {
    refuse(ErrorCode::unavailable, "cannot open " + path + ": the directory " + directory +
                                       " does not exist or cannot be entered; create it first");
  }
  if (!S_ISDIR(status->st_mode)) {
    refuse(ErrorCode::unavailable, "cannot open " + path + ": " + directory + " is not a directory");
  }
  if (!may_write(directory)) {
    refuse(ErrorCode::unavailable,
           "cannot open " + path + ": the directory " + directory +
               " cannot be written to; a store keeps its log and its lock next to its "
               "file. Make it writable, or choose another path");
  }
}

void check_file(const std::string& path, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) refuse(ErrorCode::unavailable, path + " is a directory; name a file in it");
  if (!S_ISREG(status.st_mode))
    refuse(ErrorCode::unavailable, path + " is not a regular file; choose another path");
  if (!may_write(path)) {
    refuse(ErrorCode::unavailable, path + " cannot be written to; make it writable, or choose another path");
  }
  // A database is longer, but SQLite would overwrite a file of one byte.
  if (status.st_size > 0 && status.st_size < 512) {
    refuse(ErrorCode::corrupt, path + " is not a database; choose another path");
  }
}

void check_log(const std::string& path, bool has_file) {
  const std::string log = path + "-wal";
  const auto header = header_of_log(log);
  if (!header) return;
  // A WAL that was only allocated, or never begun, contains zeros.
  if (std::all_of(header->begin(), header->end(), [](unsigned char byte) { return byte == 0; })) return;
  if (!has_file) {
    refuse(ErrorCode::corrupt, log + " is the log of a store whose file is missing or empty; put " + path +
                                   " back, or move the log away to begin a new store");
  }
  // These two never change while a WAL is in use. A crash cannot damage them: they are written and synced
  // together.
  const bool known = (number_at(*header, 0) & ~1u) == 0x377f0682 && number_at(*header, 4) == 3'007'000;
  if (!known) {
    refuse(ErrorCode::corrupt,
           log +
               " is damaged: commits that were not in the file yet are lost. Restore both from "
               "a backup, or move the log away to continue without them");
  }
}

}  // namespace

bool has_log(const std::string& path) {
  const auto status = status_of(path + "-wal");
  return status && status->st_size > 0;
}

void check_files(const std::string& path) {
  check_place(path);
  const auto status = status_of(path);
  if (status) check_file(path, *status);
  if (has_log(path)) check_log(path, status && status->st_size > 0);
}

}  // namespace duramen::inline v0::sqlite::detail
