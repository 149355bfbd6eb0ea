// The state or end of an instance, as a client returns it.
#pragma once

#include <duramen/codec.hpp>
#include <duramen/failure.hpp>
#include <duramen/management.hpp>
#include <duramen/payload.hpp>
#include <duramen/status.hpp>

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace duramen::inline v0 {

/// The state of an instance, or its end.
struct InstanceState {
  Status status = Status::pending;
  std::optional<Payload> output;   ///< completed
  std::optional<Failure> failure;  ///< failed, cancelled

  /// The result as a T; throws the failure (DurableError) if there is none, DecodeError if it is not a T.
  template <class T>
  [[nodiscard]] T output_as() const {
    if (failure) throw DurableError(*failure);
    return decode_payload<T>(output ? *output : Payload::none());
  }
};

template <class T>
T InstanceInfo::output_as() const {
  return InstanceState{status, output, failure}.output_as<T>();
}

/// The end of an instance whose result is an R.
template <class R>
class Outcome {
 public:
  using Value = std::conditional_t<std::is_void_v<R>, std::monostate, R>;

  /// The two ways an instance can end; for code that creates an Outcome.
  [[nodiscard]] static Outcome completed_with(Value value) {
    return Outcome(Status::completed, End(std::in_place_index<0>, std::move(value)));
  }
  [[nodiscard]] static Outcome failed(Status status, Failure failure) {
    return Outcome(status, End(std::in_place_index<1>, std::move(failure)));
  }

  /// completed, failed or cancelled
  [[nodiscard]] Status status() const noexcept { return status_; }
  [[nodiscard]] bool completed() const noexcept { return end_.index() == 0; }
  explicit operator bool() const noexcept { return completed(); }

  /// The value that the orchestration returned; throws its failure as a DurableError if it did not return.
  [[nodiscard]] const Value& value() const {
    if (const Failure* f = std::get_if<1>(&end_)) throw DurableError(*f);
    return std::get<0>(end_);
  }
  /// The failure; null if there is a value.
  [[nodiscard]] const Failure* failure() const noexcept { return std::get_if<1>(&end_); }

 private:
  using End = std::variant<Value, Failure>;
  Outcome(Status status, End end) : status_(status), end_(std::move(end)) {}

  Status status_;
  End end_;
};

}  // namespace duramen::inline v0
