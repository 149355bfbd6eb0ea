// Result<T>: a value, or an error.
//
// Calls that can fail for outside reasons (a store, a server, a missing instance) return a Result, so that
// the caller handles the error explicitly. The spelling is that of std::expected; the type is ours because
// std::expected needs C++23 and a signature must not depend on the user's language flag.
#pragma once

#include <duramen/export.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace duramen::inline v0 {

/// The kind of an error. Callers branch on it; people read `message`.
enum class ErrorCode : std::uint8_t {
  /// The instance, execution or row does not exist.
  not_found,
  /// The id is taken, and the caller's policy does not allow reuse.
  already_exists,
  /// The store moved on: another commit came first.
  conflict,
  /// The lease expired or was taken; its current holder decides.
  lease_lost,
  /// The caller's input can never work; the message names what to change.
  invalid_argument,
  /// A payload, name or batch is larger than allowed.
  limit_exceeded,
  timed_out,  ///< the caller's own deadline passed first
  /// The store is locked or overloaded for now.
  busy,
  /// The store cannot be reached, or its disk is full.
  unavailable,
  /// The store's content cannot be interpreted.
  corrupt,
  wrong_version,  ///< the store was written by a newer Duramen
  shutting_down,  ///< the runtime is stopping
  internal,       ///< a bug, ours or a provider's
};

/// The name of the enumerator, for messages.
[[nodiscard]] std::string_view to_string(ErrorCode code) noexcept;

/// One failed call. `operation` names the call, `message` explains what to do.
struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string operation;
  std::string message;
  /// The same call may succeed later, unchanged.
  bool retryable = false;

  /// "operation: message (code)".
  [[nodiscard]] std::string describe() const;
};

/// Thrown by Result::value() if there is an error.
class DURAMEN_API BadResult : public std::runtime_error {
 public:
  explicit BadResult(const std::string& what) : std::runtime_error(what) {}
};

/// Wraps an error so that `return Unexpected{error};` converts to any Result of that error type.
template <class E>
struct Unexpected {
  explicit Unexpected(E e) : error(std::move(e)) {}
  E error;
};
template <class E>
Unexpected(E) -> Unexpected<E>;

/// A T, or an E that explains its absence.
template <class T, class E = Error>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  using error_type = E;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: a value is a result
  Result(Unexpected<E> e) : state_(std::in_place_index<1>, std::move(e.error)) {}  // NOLINT: so is an error
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}            // NOLINT

  /// True if there is a value.
  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  /// The value; throws BadResult if there is an error. A temporary returns it by value, so that `for (auto& x
  /// : client.read_history(id).value())` is correct.
  T& value() & { return require(), std::get<0>(state_); }
  const T& value() const& { return require(), std::get<0>(state_); }
  T value() && { return require(), std::get<0>(std::move(state_)); }

  /// The value, unchecked; only valid if there is one.
  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }

  /// The error; only valid if there is no value.
  E& error() & { return std::get<1>(state_); }
  const E& error() const& { return std::get<1>(state_); }
  E&& error() && { return std::get<1>(std::move(state_)); }

  /// The value, or `fallback` if there is an error.
  template <class U>
  [[nodiscard]] T value_or(U&& fallback) const& {
    return has_value() ? **this : static_cast<T>(std::forward<U>(fallback));
  }

 private:
  void require() const {
    if (!has_value()) throw BadResult(std::get<1>(state_).describe());
  }
  std::variant<T, E> state_;
};

/// Success without a value, or an E.
template <class E>
class [[nodiscard]] Result<void, E> {
 public:
  using value_type = void;
  using error_type = E;

  Result() = default;
  Result(Unexpected<E> e) : error_(std::move(e.error)), failed_(true) {}  // NOLINT
  Result(E error) : error_(std::move(error)), failed_(true) {}            // NOLINT

  [[nodiscard]] bool has_value() const noexcept { return !failed_; }
  explicit operator bool() const noexcept { return has_value(); }
  void value() const {
    if (failed_) throw BadResult(error_.describe());
  }
  E& error() & { return error_; }
  const E& error() const& { return error_; }
  E&& error() && { return std::move(error_); }

 private:
  E error_{};
  bool failed_ = false;
};

}  // namespace duramen::inline v0
