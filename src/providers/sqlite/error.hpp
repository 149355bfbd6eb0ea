// Failures of SQLite inside the provider are exceptions; at its border they become Errors that say what to
// do.
#pragma once

#include "providers/common/guard.hpp"
#include "providers/common/store_error.hpp"
#include <duramen/result.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

struct sqlite3;

namespace duramen::inline v0::sqlite::detail {

/// A call into SQLite that failed. `code` is the extended result code, `system_error` the errno behind it if
/// there is one.
class SqlError : public std::runtime_error {
 public:
  SqlError(int code, const std::string& message, int system_error = 0)
      : std::runtime_error(message), code_(code), system_error_(system_error) {}
  [[nodiscard]] int code() const noexcept { return code_; }
  /// The code without its extension: SQLITE_BUSY, SQLITE_FULL, ...
  [[nodiscard]] int primary_code() const noexcept { return code_ & 0xff; }
  [[nodiscard]] int system_error() const noexcept { return system_error_; }

 private:
  int code_;
  int system_error_;
};

/// A problem with the files of the store that SQLite does not report.
using providers::StoreError;

/// Why a file could not be made, opened or written, and what to do: to follow "cannot create x: ". May be
/// tried again or not.
struct FileProblem {
  std::string text;
  bool retryable = false;
};
[[nodiscard]] FileProblem file_problem(int system_error);

/// Throws SqlError with the connection's message for `code`.
[[noreturn]] void throw_sql_error(sqlite3* connection, int code);

/// True if the statement or value was at fault rather than the store: other entries of a batch may still
/// work.
[[nodiscard]] bool concerns_one_entry(const SqlError& error) noexcept;

[[nodiscard]] Error to_error(const SqlError& error, const std::string& operation);

/// The same for any exception.
[[nodiscard]] Error translate(const std::exception& thrown, const char* operation);

/// Runs `body`, which returns a Result, and lets no exception pass.
template <class Body>
auto guarded(const char* operation, Body&& body) noexcept -> decltype(body()) {
  return providers::guard(operation, translate, std::forward<Body>(body));
}

}  // namespace duramen::inline v0::sqlite::detail
