// DurableFuture<T>: the result of something scheduled, and the right to it.
//
// Lazy: nothing is scheduled, and no place in history taken, until its first poll (an await, a combinator, or start()).
// Dropped without a poll, it never was. Dropped after a poll and before its end, what it stands for is cancelled, with
// the reason in history.
#pragma once

#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <duramen/codec.hpp>
#include <duramen/detail/leaf.hpp>
#include <duramen/detail/operation.hpp>
#include <duramen/result.hpp>

namespace duramen::inline v0 {

template <class T>
class DurableFuture;

namespace detail {

/// How to turn a finished operation into a T. A plain pointer to a function, so that a future costs no more than that;
/// `inner` is the reader that as_result() wraps.
template <class T>
struct FutureReader {
  using Inner = void (*)();
  using Function = T (*)(Operation&, Inner);
};

template <class T>
T read_leaf(Operation& operation, FutureReader<void>::Inner /*unused*/) {
  const Payload& result = static_cast<Leaf&>(operation).require();
  if constexpr (!std::is_void_v<T>) return decode_payload<T>(result);
}

template <class T>
Result<T, Failure> read_as_result(Operation& operation, FutureReader<void>::Inner inner) {
  auto read = reinterpret_cast<typename FutureReader<T>::Function>(inner);
  try {
    if constexpr (std::is_void_v<T>) {
      read(operation, nullptr);
      return Result<void, Failure>{};
    } else {
      return Result<T, Failure>{read(operation, nullptr)};
    }
  } catch (...) {
    return Result<T, Failure>{failure_from(std::current_exception())};
  }
}

}  // namespace detail

template <class T>
class [[nodiscard("a DurableFuture that is dropped does nothing, or cancels what it started")]] DurableFuture {
 public:
  using value_type = T;

  DurableFuture(std::unique_ptr<detail::Operation> operation, typename detail::FutureReader<T>::Function read,
                detail::FutureReader<void>::Inner inner = nullptr) noexcept
      : operation_(std::move(operation)), read_(read), inner_(inner) {}

  DurableFuture(DurableFuture&&) noexcept = default;
  DurableFuture& operator=(DurableFuture&& other) noexcept {
    if (this != &other) {
      drop();
      operation_ = std::move(other.operation_);
      read_ = other.read_;
      inner_ = other.inner_;
    }
    return *this;
  }
  ~DurableFuture() { drop(); }

  /// Polls now: what it stands for is scheduled before the next statement runs.
  DurableFuture& start() & {
    operation().start();
    return *this;
  }
  DurableFuture start() && {
    operation().start();
    return std::move(*this);
  }
  /// Schedules now and gives up the result. It survives the drop, but still ends with the orchestration.
  void detach() && {
    operation().detach();
    operation_.reset();
  }
  /// A failure becomes a value instead of an exception.
  DurableFuture<Result<T, Failure>> as_result() && {
    return DurableFuture<Result<T, Failure>>(std::move(operation_), &detail::read_as_result<T>,
                                             reinterpret_cast<detail::FutureReader<void>::Inner>(read_));
  }
  /// Only workers that serve this tag run the activity. Must come before the first poll.
  DurableFuture with_tag(std::string tag) && {
    activity().tag = std::move(tag);
    return std::move(*this);
  }

  /// Ready to be read: awaiting it would not wait.
  [[nodiscard]] bool is_done() const { return operation().done(); }

  // For awaiters and combinators.
  [[nodiscard]] detail::Operation& operation() const {
    if (!operation_) throw std::logic_error("this DurableFuture was moved from, awaited or detached before");
    return *operation_;
  }
  T take() {
    auto finished = std::move(operation_);
    return read_(*finished, inner_);
  }

 private:
  void drop() noexcept {
    if (!operation_) return;
    operation_->drop(detail::drop_reason(operation_->execution()));
    operation_.reset();
  }
  event::ActivityScheduled& activity() const {
    auto* leaf = dynamic_cast<detail::Leaf*>(&operation());
    auto* request = leaf ? std::get_if<event::ActivityScheduled>(&leaf->request()) : nullptr;
    if (!request) throw std::logic_error("only an activity can have this option");
    if (leaf->started()) throw std::logic_error("activity options must be set before the future is first polled");
    return *request;
  }

  std::unique_ptr<detail::Operation> operation_;
  typename detail::FutureReader<T>::Function read_;
  detail::FutureReader<void>::Inner inner_;
};

}  // namespace duramen::v0
