// select and join: wait for the first of several branches, or for all of them.
//
// Branches are DurableFutures, Tasks or other combinators, nested freely. A branch that is complete before
// the select begins wins and no other branch is polled; among several, the one that history completed first
// wins. Otherwise the branches are polled in argument order, up to the first that completes immediately. The
// select cancels the losers when it resolves, with reason `select_loser`. A loser inside a shield runs to the
// end of that shield; the select resolves after that, with the winner it had.
//
// Under a graceful cancellation (OrchestrationOptions::graceful) an await on branches that are all futures
// ends at once. If Tasks are among the branches, at any depth, their code may clean up: the await ends when
// all of these Tasks have ended, and the futures among the branches are cancelled at once, or not started.
//   join:   the values, if no branch was cancelled.
//   select: the winner it had before, or the first Task that returned.
// Otherwise the await throws the first failure in argument order, and CancelledError if there is none.
#pragma once

#include <duramen/detail/branches.hpp>
#include <duramen/future.hpp>
#include <duramen/task.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace duramen::inline v0 {

namespace detail {

template <class T>
using VoidAsMonostate = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

template <class T>
VoidAsMonostate<T> take_value(DurableFuture<T>& future) {
  if constexpr (std::is_void_v<T>) {
    future.take();
    return {};
  } else {
    return future.take();
  }
}

// The value type of a branch: the T of a DurableFuture<T> or a Task<T>.
template <class B>
using BranchValue = typename std::remove_cvref_t<B>::value_type;

template <class T>
DurableFuture<T> as_branch(core::Execution& /*unused*/, DurableFuture<T>&& future) {
  return std::move(future);
}
template <class T>
DurableFuture<T> as_branch(core::Execution& execution, Task<T>&& task) {
  return DurableFuture<T>(std::make_unique<TaskOperation<T>>(execution, std::move(task)),
                          &TaskOperation<T>::take);
}

}  // namespace detail

/// The result of a select: the index of the winning branch, and its value. A branch of type void has the
/// value std::monostate.
template <class... Ts>
class Either {
 public:
  using Variant = std::variant<detail::VoidAsMonostate<Ts>...>;

  explicit Either(Variant value) : value_(std::move(value)) {}

  /// The index of the winning branch, from 0.
  [[nodiscard]] std::size_t index() const noexcept { return value_.index(); }
  [[nodiscard]] bool is_first() const noexcept { return index() == 0; }
  [[nodiscard]] bool is_second() const noexcept { return index() == 1; }
  [[nodiscard]] bool is_third() const noexcept { return index() == 2; }

  /// The winner's value; throws std::bad_variant_access for a loser.
  template <std::size_t I>
  [[nodiscard]] auto& get() & {
    return std::get<I>(value_);
  }
  template <std::size_t I>
  [[nodiscard]] auto&& get() && {
    return std::get<I>(std::move(value_));
  }
  /// The same as get<0>(), get<1>(), get<2>().
  [[nodiscard]] auto& first() { return get<0>(); }
  [[nodiscard]] auto& second() { return get<1>(); }
  [[nodiscard]] auto& third() { return get<2>(); }

 private:
  Variant value_;
};

namespace detail {

template <class... Ts>
class SelectOf final : public Select {
 public:
  SelectOf(core::Execution& execution, DurableFuture<Ts>&&... branches)
      : Select(execution), futures_(std::move(branches)...) {
    std::apply([this](auto&... future) { (add_branch(future.operation()), ...); }, futures_);
  }
  [[nodiscard]] static Either<Ts...> take(Operation& operation, FutureReader<void>::Inner /*unused*/) {
    auto& self = static_cast<SelectOf&>(operation);
    self.require_result();
    return self.take_winner(std::index_sequence_for<Ts...>{});
  }

 private:
  template <std::size_t... Is>
  Either<Ts...> take_winner(std::index_sequence<Is...>) {
    using Variant = typename Either<Ts...>::Variant;
    std::optional<Variant> value;
    ((Is == winner() ? void(value.emplace(std::in_place_index<Is>, take_value(std::get<Is>(futures_))))
                     : void()),
     ...);
    return Either<Ts...>(std::move(*value));
  }
  std::tuple<DurableFuture<Ts>...> futures_;
};

/// Throws the failure of a branch that exceeded its time limit.
[[noreturn]] void throw_timed_out();

template <class T>
class TimeoutOf final : public Select {
 public:
  TimeoutOf(core::Execution& execution, DurableFuture<T>&& branch, DurableFuture<void>&& timer,
            bool of_shield = false)
      : Select(execution, CancelReason::timeout), branch_(std::move(branch)), timer_(std::move(timer)) {
    add_branch(branch_.operation());
    add_branch(timer_.operation());
    if (of_shield) destroy_losers();
  }
  [[nodiscard]] static T take(Operation& operation, FutureReader<void>::Inner /*unused*/) {
    auto& self = static_cast<TimeoutOf&>(operation);
    self.require_result();
    if (self.winner() != 0) throw_timed_out();
    return self.branch_.take();
  }
  [[nodiscard]] Ended ended() const override {
    return is_cancelled() || winner() == 0 ? Select::ended() : Ended::with_failure;
  }

 private:
  DurableFuture<T> branch_;
  DurableFuture<void> timer_;
};

template <class... Ts>
class JoinOf final : public Join {
 public:
  JoinOf(core::Execution& execution, DurableFuture<Ts>&&... branches)
      : Join(execution), futures_(std::move(branches)...) {
    std::apply([this](auto&... future) { (add_branch(future.operation()), ...); }, futures_);
  }
  [[nodiscard]] static std::tuple<VoidAsMonostate<Ts>...> take(Operation& operation,
                                                               FutureReader<void>::Inner /*unused*/) {
    auto& self = static_cast<JoinOf&>(operation);
    self.require_result();
    if (self.failed()) self.take_branch(*self.failed(), std::index_sequence_for<Ts...>{});
    // Braces guarantee evaluation in argument order, so the first failure in that order is thrown.
    return std::apply(
        [](auto&... future) { return std::tuple<VoidAsMonostate<Ts>...>{take_value(future)...}; },
        self.futures_);
  }

 private:
  template <std::size_t... Is>
  void take_branch(std::size_t index, std::index_sequence<Is...>) {
    ((Is == index ? void(take_value(std::get<Is>(futures_))) : void()), ...);
  }
  std::tuple<DurableFuture<Ts>...> futures_;
};

template <class T>
class SelectList final : public Select {
 public:
  SelectList(core::Execution& execution, std::vector<DurableFuture<T>>&& branches)
      : Select(execution), futures_(std::move(branches)) {
    if (futures_.empty())
      throw std::invalid_argument("select needs at least one branch: nothing would ever win");
    for (auto& future : futures_) add_branch(future.operation());
  }
  [[nodiscard]] static std::pair<std::size_t, VoidAsMonostate<T>> take(Operation& operation,
                                                                       FutureReader<void>::Inner /*unused*/) {
    auto& self = static_cast<SelectList&>(operation);
    self.require_result();
    return {self.winner(), take_value(self.futures_[self.winner()])};
  }

 private:
  std::vector<DurableFuture<T>> futures_;
};

template <class T>
class JoinList final : public Join {
 public:
  JoinList(core::Execution& execution, std::vector<DurableFuture<T>>&& branches)
      : Join(execution), futures_(std::move(branches)) {
    for (auto& future : futures_) add_branch(future.operation());
  }
  [[nodiscard]] static std::vector<VoidAsMonostate<T>> take(Operation& operation,
                                                            FutureReader<void>::Inner /*unused*/) {
    auto& self = static_cast<JoinList&>(operation);
    self.require_result();
    if (self.failed()) (void)take_value(self.futures_[*self.failed()]);
    std::vector<VoidAsMonostate<T>> values;
    values.reserve(self.futures_.size());
    for (auto& future : self.futures_) values.push_back(take_value(future));
    return values;
  }

 private:
  std::vector<DurableFuture<T>> futures_;
};

}  // namespace detail

/// A branch that is done when `future` is, and does not consume its value: race it, and await `future` later.
///   auto slow = ctx.schedule_activity(Render, scene).start();
///   // `slow` continues if the timer wins.
///   auto winner = co_await ctx.select2(dm::ref(slow), ctx.schedule_timer(5s));
/// The future must outlive the race.
template <class T>
[[nodiscard]] DurableFuture<void> ref(DurableFuture<T>& future) {
  return DurableFuture<void>(std::make_unique<detail::Reference>(future.operation()),
                             &detail::Reference::take);
}

}  // namespace duramen::inline v0
