// Failures of SQLite inside the provider are exceptions; at its border they become Errors that say what to
// do.
#pragma once

#include "providers/common/out_of_memory.hpp"
#include <duramen/result.hpp>

#include <new>
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

/// Something about the store's files that is not SQLite's to say.
class StoreError : public std::runtime_error {
 public:
  explicit StoreError(Error error) : std::runtime_error(error.message), error_(std::move(error)) {}
  [[nodiscard]] const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

/// Why a file could not be made, opened or written, and what to do: to follow "cannot create x: ". May be
/// tried again or not.
struct FileProblem {
  std::string text;
  bool retryable = false;
};
[[nodiscard]] FileProblem file_trouble(int system_error);

/// Throws SqlError with the connection's message for `code`.
[[noreturn]] void throw_sql_error(sqlite3* connection, int code);

/// True if the statement or value was at fault rather than the store: other entries of a batch may still
/// work.
[[nodiscard]] bool concerns_one_entry(const SqlError& error) noexcept;

[[nodiscard]] Error to_error(const SqlError& error, const std::string& operation);

/// Runs `body`, which returns a Result; nothing thrown in it goes further than here.
template <class Body>
auto guarded(const char* operation, Body&& body) noexcept -> decltype(body()) {
  try {
    try {
      return std::forward<Body>(body)();
    } catch (const SqlError& e) {
      return to_error(e, operation);
    } catch (const StoreError& e) {
      Error error = e.error();
      error.operation = operation;
      return error;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      return Error{ErrorCode::internal, operation, e.what(), false};
    }
  } catch (const std::bad_alloc&) {
    return base::out_of_memory(operation);  // of the body, or of an error that was to be described
  }
}

}  // namespace duramen::inline v0::sqlite::detail
