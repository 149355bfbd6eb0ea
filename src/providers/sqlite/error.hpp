// Failures of SQLite are exceptions inside the provider; at its border they become Errors with advice.
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

/// A failed call of SQLite. `code` is the extended result code; `system_error` is the errno, or 0.
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

/// The reason why a file could not be created, opened or written, and advice. Follows "cannot create x: ".
struct FileProblem {
  std::string text;
  bool retryable = false;
};
[[nodiscard]] FileProblem file_problem(int system_error);

/// Throws SqlError with the connection's message for `code`.
[[noreturn]] void throw_sql_error(sqlite3* connection, int code);

/// True if the statement or value is at fault, not the store: other entries of a batch may still work.
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
