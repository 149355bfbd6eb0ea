// Failures of PostgreSQL are exceptions inside the provider; at its border they become Errors with advice.
#pragma once

#include "providers/common/guard.hpp"
#include "providers/common/store_error.hpp"
#include <duramen/result.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace duramen::inline v0::postgres::detail {

/// A statement that the server refused. `state` is its SQLSTATE.
class SqlError : public std::runtime_error {
 public:
  SqlError(std::string state, const std::string& message)
      : std::runtime_error(message), state_(std::move(state)) {}
  [[nodiscard]] const std::string& state() const noexcept { return state_; }
  /// The first two characters of the state: the class of the failure.
  [[nodiscard]] std::string_view kind() const noexcept { return std::string_view(state_).substr(0, 2); }

 private:
  std::string state_;
};

/// There is no connection, or it was lost: its last statement may or may not have been executed.
class ConnectionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A problem that the server does not report.
using providers::StoreError;

/// True if a value or row is at fault, not the store: other entries of a batch may still work.
[[nodiscard]] bool concerns_one_entry(const SqlError& error) noexcept;

/// True if another call overtook this one, which was rolled back: sent again, it sees the other call's
/// changes. A deadlock does not count: locks are taken in one order, so a deadlock is a bug of Duramen and
/// must be reported.
[[nodiscard]] bool was_overtaken(const SqlError& error) noexcept;

/// True if the session is unusable, although the server answered.
[[nodiscard]] bool ends_session(const SqlError& error) noexcept;

/// Sends a call again while other calls overtake it.
template <class Call>
auto until_not_overtaken(Call call) -> decltype(call()) {
  constexpr int most_attempts = 5;  // two are rare
  for (int attempt = 1;; ++attempt) {
    try {
      return call();
    } catch (const SqlError& error) {
      if (!was_overtaken(error) || attempt == most_attempts) throw;
    }
  }
}

[[nodiscard]] Error to_error(const SqlError& error, const std::string& operation);

/// The same for any exception.
[[nodiscard]] Error translate(const std::exception& thrown, const char* operation);

/// Runs `body`, which returns a Result, and lets no exception pass.
template <class Body>
auto guarded(const char* operation, Body&& body) noexcept -> decltype(body()) {
  return providers::guard(operation, translate, std::forward<Body>(body));
}

}  // namespace duramen::inline v0::postgres::detail
