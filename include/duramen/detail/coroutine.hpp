// The common parts of the two coroutine types, Task and ActivityTask. Not API.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace duramen::inline v0::detail {

/// The exception with which a coroutine ended, if any.
class CoroutineError {
 public:
  void unhandled_exception() noexcept { error_ = std::current_exception(); }
  /// Null if it ended without one, and after the result was taken.
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }

 protected:
  void rethrow() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  std::exception_ptr error_;
};

/// The part of a promise that keeps the result: the returned value, or the exception.
template <class T>
class CoroutineResult : public CoroutineError {
 public:
  template <class U>
    requires std::is_constructible_v<T, U&&>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  /// Moves the value out, or throws the exception.
  [[nodiscard]] T take() {
    rethrow();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class CoroutineResult<void> : public CoroutineError {
 public:
  void return_void() const noexcept {}
  void take() { rethrow(); }
};

/// Owns a coroutine frame; `void` for a frame with a promise of any type. Move-only.
template <class Promise>
class OwnedFrame {
 public:
  template <class Actual>
    requires(!std::is_same_v<Actual, OwnedFrame>)
  explicit OwnedFrame(Actual& promise) noexcept
      : handle_(std::coroutine_handle<Actual>::from_promise(promise)) {}
  OwnedFrame(OwnedFrame&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  OwnedFrame& operator=(OwnedFrame&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, {});
    }
    return *this;
  }
  ~OwnedFrame() { reset(); }

  /// Destroys the frame at its current point.
  void reset() noexcept {
    if (auto handle = std::exchange(handle_, {})) handle.destroy();
  }
  /// Empty after a move or a reset.
  [[nodiscard]] std::coroutine_handle<Promise> handle() const noexcept { return handle_; }
  [[nodiscard]] auto& promise() const { return handle_.promise(); }
  /// Gives up the frame: the caller owns it.
  [[nodiscard]] std::coroutine_handle<Promise> release() noexcept { return std::exchange(handle_, {}); }

 private:
  std::coroutine_handle<Promise> handle_;
};

}  // namespace duramen::inline v0::detail
