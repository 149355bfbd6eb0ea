// What an orchestration can do.
//
// An orchestration is a coroutine: `dm::Task<R> name(dm::OrchestrationContext& ctx, In input)`. It may be run again from
// its beginning at any time, so it must do the same for the same history: no clock, randomness, I/O, threads or order of
// a hash map in it. Everything that touches the world is an activity. Parameters are values. All calls happen on the
// runtime's loop; an orchestration must not block.
#pragma once

#include <concepts>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <duramen/codec.hpp>
#include <duramen/combinators.hpp>
#include <duramen/future.hpp>
#include <duramen/ids.hpp>
#include <duramen/task.hpp>
#include <duramen/time.hpp>

namespace duramen::inline v0 {

/// A name with the types that belong to it: `inline constexpr dm::Activity<Receipt(Order)> Charge{"Charge"};`
/// Scheduling and registering through the handle makes a wrong argument or result a compile error.
template <class Signature>
class Activity;

template <class R>
class Activity<R()> {
 public:
  using result_type = R;
  explicit constexpr Activity(const char* name) noexcept : name_(name) {}
  [[nodiscard]] constexpr const char* name() const noexcept { return name_; }

 private:
  const char* name_;
};

template <class R, class In>
class Activity<R(In)> {
 public:
  static_assert(!std::is_reference_v<In>, "an activity's argument travels through the store: declare it as a value");
  using result_type = R;
  using input_type = In;
  explicit constexpr Activity(const char* name) noexcept : name_(name) {}
  [[nodiscard]] constexpr const char* name() const noexcept { return name_; }

 private:
  const char* name_;
};

class OrchestrationContext {
 public:
  explicit OrchestrationContext(core::Execution& execution) noexcept : execution_(execution) {}
  OrchestrationContext(const OrchestrationContext&) = delete;
  OrchestrationContext& operator=(const OrchestrationContext&) = delete;

  [[nodiscard]] const InstanceId& instance_id() const noexcept;
  [[nodiscard]] ExecutionId execution_id() const noexcept;
  [[nodiscard]] const std::string& orchestration_name() const noexcept;
  [[nodiscard]] const std::string& orchestration_version() const noexcept;
  /// True while the code only repeats what history says it did before.
  [[nodiscard]] bool is_replaying() const noexcept;

  /// Runs an activity. Awaiting it throws ActivityError if it fails, DecodeError if its result is not an R.
  template <class R, class In, class Arg>
    requires std::convertible_to<Arg&&, In>
  [[nodiscard]] DurableFuture<R> schedule_activity(const Activity<R(In)>& activity, Arg&& input,
                                                   std::source_location where = std::source_location::current()) {
    return leaf<R>(activity.name(), encode_payload<In>(static_cast<In>(std::forward<Arg>(input))), where);
  }
  template <class R>
  [[nodiscard]] DurableFuture<R> schedule_activity(const Activity<R()>& activity,
                                                   std::source_location where = std::source_location::current()) {
    return leaf<R>(activity.name(), Payload::none(), where);
  }
  /// The same by name: `schedule_activity<Receipt>("Charge", order)`.
  template <class R = std::string, class In>
  [[nodiscard]] DurableFuture<R> schedule_activity(std::string_view name, const In& input,
                                                   std::source_location where = std::source_location::current()) {
    return leaf<R>(std::string(name), encode_input(input), where);
  }

  /// Ends after `delay`, counted from its first poll. Durable: a restart does not begin it anew.
  template <class Rep, class Period>
  [[nodiscard]] DurableFuture<void> schedule_timer(std::chrono::duration<Rep, Period> delay,
                                                   std::source_location where = std::source_location::current()) {
    return DurableFuture<void>(make_leaf(detail::TimerRequest{round_up(delay)}, where), &detail::read_leaf<void>);
  }

  /// The first of two or three branches to end. If it failed, awaiting the select throws its failure.
  template <class A, class B>
  [[nodiscard]] auto select2(A first, B second) {
    return select_of(detail::as_branch(execution_, std::move(first)),
                     detail::as_branch(execution_, std::move(second)));
  }
  template <class A, class B, class C>
  [[nodiscard]] auto select3(A first, B second, C third) {
    return select_of(detail::as_branch(execution_, std::move(first)),
                     detail::as_branch(execution_, std::move(second)),
                     detail::as_branch(execution_, std::move(third)));
  }

  /// All of them, in argument order. Waits for every branch even if one fails; then the first failure in argument order
  /// is thrown. Use as_result() on the branches to see each.
  template <class T>
  [[nodiscard]] DurableFuture<std::vector<detail::VoidAsMonostate<T>>> join(std::vector<DurableFuture<T>> branches) {
    return DurableFuture<std::vector<detail::VoidAsMonostate<T>>>(
        std::make_unique<detail::JoinList<T>>(execution_, std::move(branches)), &detail::JoinList<T>::take);
  }
  template <class A, class B>
  [[nodiscard]] auto join2(A first, B second) {
    return join_of(detail::as_branch(execution_, std::move(first)), detail::as_branch(execution_, std::move(second)));
  }
  template <class A, class B, class C>
  [[nodiscard]] auto join3(A first, B second, C third) {
    return join_of(detail::as_branch(execution_, std::move(first)), detail::as_branch(execution_, std::move(second)),
                   detail::as_branch(execution_, std::move(third)));
  }

 private:
  template <class In>
  static Payload encode_input(const In& input) {
    if constexpr (std::is_convertible_v<const In&, std::string_view>) {
      return Payload::text(std::string(std::string_view(input)));
    } else {
      return encode_payload<In>(input);
    }
  }
  template <class R>
  DurableFuture<R> leaf(std::string name, Payload input, std::source_location where) {
    event::ActivityScheduled request{std::move(name), std::move(input), {}, {}, {}};
    return DurableFuture<R>(make_leaf(std::move(request), where), &detail::read_leaf<R>);
  }
  template <class... Ts>
  DurableFuture<Either<Ts...>> select_of(DurableFuture<Ts>... branches) {
    return DurableFuture<Either<Ts...>>(
        std::make_unique<detail::SelectOf<Ts...>>(execution_, std::move(branches)...), &detail::SelectOf<Ts...>::take);
  }
  template <class... Ts>
  DurableFuture<std::tuple<detail::VoidAsMonostate<Ts>...>> join_of(DurableFuture<Ts>... branches) {
    return DurableFuture<std::tuple<detail::VoidAsMonostate<Ts>...>>(
        std::make_unique<detail::JoinOf<Ts...>>(execution_, std::move(branches)...), &detail::JoinOf<Ts...>::take);
  }
  [[nodiscard]] std::unique_ptr<detail::Operation> make_leaf(detail::LeafRequest request, std::source_location where);

  core::Execution& execution_;
};

}  // namespace duramen::v0
