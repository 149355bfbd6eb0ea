// DurableFuture<T>: a scheduled operation and the ownership of its result.
//
// Lazy: nothing is scheduled until the first poll (an await, a combinator or start()). A future dropped
// before its first poll leaves no trace. A future dropped later cancels its operation; history records the
// reason.
#pragma once

#include <duramen/codec.hpp>
#include <duramen/detail/leaf.hpp>
#include <duramen/detail/operation.hpp>
#include <duramen/result.hpp>
#include <duramen/retry.hpp>

#include <chrono>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace duramen::inline v0 {

template <class T>
class DurableFuture;

namespace detail {

/// Converts a finished operation to a T. A plain function pointer, so that a future costs no more than that;
/// `inner` is the reader that as_result() wraps.
template <class T>
struct FutureReader {
  using Inner = void (*)();
  using Function = T (*)(Operation&, Inner);
};

template <class T>
struct AsResultOf {
  using type = Result<T, Failure>;
};
template <class T>
struct AsResultOf<Result<T, Failure>> {
  using type = Result<T, Failure>;
};
template <class T>
using AsResult = typename AsResultOf<T>::type;

template <class T>
T read_leaf(Operation& operation, FutureReader<void>::Inner /*unused*/) {
  const Payload& result = static_cast<Leaf&>(operation).require();
  if constexpr (!std::is_void_v<T>) return decode_payload<T>(result);
}

/// An activity with a retry policy; defined in the engine.
std::unique_ptr<Operation> make_retry(core::Execution& execution, event::ActivityScheduled request,
                                      RetryPolicy policy, std::source_location where);
[[nodiscard]] Payload take_retry(Operation& operation);

template <class T>
T read_retry(Operation& operation, FutureReader<void>::Inner /*unused*/) {
  const Payload result = take_retry(operation);
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

/// A requested operation and the ownership of its result. Move-only. Await it once, pass it to a combinator,
/// or drop it.
template <class T>
class [[nodiscard("a dropped DurableFuture does nothing, or cancels what it started")]] DurableFuture {
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

  /// Polls now: the operation is scheduled before the next statement runs.
  DurableFuture& start() & {
    operation().start();
    return *this;
  }
  DurableFuture start() && {
    operation().start();
    return std::move(*this);
  }
  /// Schedules now and gives up the result. The operation survives the drop, but still ends with the
  /// orchestration.
  void detach() && {
    operation().detach();
    operation_.reset();
  }
  /// Turns a failure into a value instead of an exception; also a graceful cancellation that ends the wait. A
  /// future that already yields a Result is unchanged.
  DurableFuture<detail::AsResult<T>> as_result() && {
    if constexpr (std::is_same_v<T, detail::AsResult<T>>) {
      return std::move(*this);
    } else {
      return DurableFuture<Result<T, Failure>>(std::move(operation_), &detail::read_as_result<T>,
                                               reinterpret_cast<detail::FutureReader<void>::Inner>(read_));
    }
  }
  /// Only workers that accept this tag run the activity. Compared on replay. Set it before the first poll.
  DurableFuture with_tag(std::string tag) && {
    activity().tag = std::move(tag);
    return std::move(*this);
  }

  /// The activities of one session run on one worker while it lives. Compared on replay. Set it before the
  /// first poll. An empty id is refused like an empty name.
  DurableFuture on_session(std::string session) && {
    activity().session_id = std::move(session);
    return std::move(*this);
  }
  /// Limits on the time an activity may wait for a worker, run, or go without a heartbeat
  /// (ActivityContext::heartbeat). On expiry the activity fails with kind `timeout` and its worker is asked
  /// to stop. Limits apply to each attempt; zero or less is no limit. Set them before the first poll.
  template <class Rep, class Period>
  DurableFuture schedule_to_start(std::chrono::duration<Rep, Period> limit) && {
    activity().options.schedule_to_start = round_up(limit);
    return std::move(*this);
  }
  template <class Rep, class Period>
  DurableFuture start_to_close(std::chrono::duration<Rep, Period> limit) && {
    activity().options.start_to_close = round_up(limit);
    return std::move(*this);
  }
  template <class Rep, class Period>
  DurableFuture heartbeat(std::chrono::duration<Rep, Period> limit) && {
    activity().options.heartbeat = round_up(limit);
    return std::move(*this);
  }
  /// Retries the activity when it fails. Each attempt is a separate activity in history. Set tag, session and
  /// limits first.
  DurableFuture with_retry(RetryPolicy policy) && {
    event::ActivityScheduled& request = activity();
    auto& leaf = static_cast<detail::Leaf&>(operation());
    auto retry = detail::make_retry(leaf.execution(), std::move(request), std::move(policy), leaf.where());
    operation_.reset();
    return DurableFuture(std::move(retry), &detail::read_retry<T>);
  }

  /// True if awaiting it would not wait.
  [[nodiscard]] bool is_done() const { return operation().done(); }

  // Internal: used by awaiters and combinators.
  [[nodiscard]] bool borrows() const noexcept { return operation_ && operation_->borrows(); }
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
    if (leaf->started())
      throw std::logic_error("activity options must be set before the future is first polled");
    return *request;
  }

  std::unique_ptr<detail::Operation> operation_;
  typename detail::FutureReader<T>::Function read_;
  detail::FutureReader<void>::Inner inner_;
};

}  // namespace duramen::inline v0
