// The code a node can run: orchestrations and activities by name.
#pragma once

#include <duramen/activity.hpp>
#include <duramen/codec.hpp>
#include <duramen/orchestration.hpp>
#include <duramen/payload.hpp>
#include <duramen/task.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace duramen::inline v0 {

/// Options of a registered orchestration.
class OrchestrationOptions {
 public:
  OrchestrationOptions() = default;
  OrchestrationOptions(const char* version) : version_(version) {}             // NOLINT: the common case
  OrchestrationOptions(std::string version) : version_(std::move(version)) {}  // NOLINT
  /// In the form 1.2.3; default 1.0.0.
  OrchestrationOptions& version(std::string version) {
    version_ = std::move(version);
    return *this;
  }
  /// The orchestration cleans up when it is cancelled: its awaits throw CancelledError, inner Tasks first,
  /// and shielded tasks still run. Code that ignores the cancellation and begins more than
  /// max_interrupted_awaits further awaits fails. Recorded when an instance starts.
  OrchestrationOptions& graceful(bool graceful = true) {
    graceful_ = graceful;
    return *this;
  }
  /// The values set.
  [[nodiscard]] const std::string& get_version() const noexcept { return version_; }
  [[nodiscard]] bool is_graceful() const noexcept { return graceful_; }

 private:
  std::string version_ = "1.0.0";
  bool graceful_ = false;
};

/// One version of an orchestration's code. Kept alive until the last coroutine frame made from it has been
/// destroyed.
struct OrchestrationHandler {
  std::string name;
  std::string version;
  bool graceful = false;
  std::function<Task<Payload>(OrchestrationContext&, Payload)> invoke;
};

/// An activity's code, of one of two kinds.
struct ActivityHandler {
  using Function = std::function<Payload(ActivityContext&, const Payload&)>;
  using Coroutine = std::function<ActivityTask<Payload>(ActivityContext&, Payload)>;
  std::string name;
  std::variant<Function, Coroutine> run;
};

namespace detail {

// The types of `R f(Context&)` and `R f(Context&, In)`, for functions, lambdas and function objects.
template <class F>
struct HandlerTraits : HandlerTraits<decltype(&F::operator())> {};
template <class R, class Context>
struct HandlerTraits<R (*)(Context&)> {
  using Result = R;
  using ContextType = Context;
  using Input = void;
};
template <class R, class Context, class In>
struct HandlerTraits<R (*)(Context&, In)> {
  static_assert(
      !std::is_reference_v<In>,
      "a handler's input is a value: a reference would dangle when the coroutine is suspended or replayed");
  using Result = R;
  using ContextType = Context;
  using Input = typename Owned<In>::type;
};
template <class C, class R, class... Args>
struct HandlerTraits<R (C::*)(Args...) const> : HandlerTraits<R (*)(Args...)> {};
template <class C, class R, class... Args>
struct HandlerTraits<R (C::*)(Args...)> : HandlerTraits<R (*)(Args...)> {};
template <class R, class... Args>
struct HandlerTraits<R(Args...)> : HandlerTraits<R (*)(Args...)> {};

// The result of a handler.
template <class T>
struct Unwrapped : Owned<T> {
  static constexpr bool is_task = false;
  static constexpr bool is_activity_task = false;
};
template <class T>
struct Unwrapped<Task<T>> : Owned<T> {
  static constexpr bool is_task = true;
  static constexpr bool is_activity_task = false;
};
template <class T>
struct Unwrapped<ActivityTask<T>> : Owned<T> {
  static constexpr bool is_task = false;
  static constexpr bool is_activity_task = true;
};

/// Calls a handler, with its input decoded if it takes one.
template <class F, class Context>
auto call_handler(const F& f, Context& ctx, const Payload& input) {
  using In = typename HandlerTraits<F>::Input;
  if constexpr (std::is_void_v<In>) {
    return std::invoke(f, ctx);
  } else {
    return std::invoke(f, ctx, decode_payload<In>(input));
  }
}

/// Runs a handler that is a coroutine, and encodes its result. `Coroutine` is Task<Payload> or
/// ActivityTask<Payload>.
template <class Coroutine, class F, class Context>
Coroutine run_coroutine(std::shared_ptr<const F> f, Context& ctx, Payload input) {
  auto task = call_handler(*f, ctx, input);
  if constexpr (std::is_void_v<typename decltype(task)::value_type>) {
    co_await std::move(task);
    co_return Payload::none();
  } else {
    auto value = co_await std::move(task);
    co_return encode_payload(value);
  }
}

template <class F>
Payload run_activity_function(const F& f, ActivityContext& ctx, const Payload& input) {
  using R = typename HandlerTraits<F>::Result;
  if constexpr (std::is_void_v<R>) {
    call_handler(f, ctx, input);
    return Payload::none();
  } else {
    return encode_payload<R>(call_handler(f, ctx, input));
  }
}

}  // namespace detail

/// Fill a registry first, then share it: a Runtime takes a copy.
class Registry {
 public:
  /// Registers `f` according to its first parameter: an orchestration `Task<R>(OrchestrationContext&[, In])`,
  /// a function activity `R(ActivityContext&[, In])`, or a coroutine activity
  /// `ActivityTask<R>(ActivityContext&[, In])`. Throws std::invalid_argument if the name is taken, empty, not
  /// valid text or longer than max_name_bytes, or the version is not of the form 1.2.3.
  template <class F>
  Registry& add(std::string_view name, F f, const OrchestrationOptions& options = {}) {
    using Traits = detail::HandlerTraits<F>;
    using Result = detail::Unwrapped<typename Traits::Result>;
    if constexpr (std::is_same_v<typename Traits::ContextType, OrchestrationContext>) {
      static_assert(Result::is_task, "an orchestration returns dm::Task<R>");
      auto code = std::make_shared<const F>(std::move(f));
      return add_orchestration(name, options, [code](OrchestrationContext& ctx, Payload input) {
        return detail::run_coroutine<Task<Payload>>(code, ctx, std::move(input));
      });
    } else {
      static_assert(std::is_same_v<typename Traits::ContextType, ActivityContext>,
                    "a handler's first parameter is dm::OrchestrationContext& or dm::ActivityContext&");
      static_assert(!Result::is_task,
                    "an activity returns a value or dm::ActivityTask<R>; dm::Task is for orchestrations");
      auto code = std::make_shared<const F>(std::move(f));
      if constexpr (Result::is_activity_task) {
        return add_activity(name, ActivityHandler::Coroutine([code](ActivityContext& ctx, Payload input) {
                              return detail::run_coroutine<ActivityTask<Payload>>(code, ctx,
                                                                                  std::move(input));
                            }));
      } else {
        return add_activity(name,
                            ActivityHandler::Function([code](ActivityContext& ctx, const Payload& input) {
                              return detail::run_activity_function<F>(*code, ctx, input);
                            }));
      }
    }
  }

  /// Like add(), with an activity's handle: argument and result must match the handle.
  template <class R, class... In, class F>
  Registry& add(const Activity<R(In...)>& activity, F f) {
    using Traits = detail::HandlerTraits<F>;
    using Result = typename detail::Unwrapped<typename Traits::Result>::type;
    static_assert(std::is_same_v<typename Traits::ContextType, ActivityContext>,
                  "an activity takes dm::ActivityContext&");
    static_assert(std::is_same_v<Result, R>,
                  "the function's result is not the one its dm::Activity handle declares");
    if constexpr (sizeof...(In) == 0) {
      static_assert(std::is_void_v<typename Traits::Input>, "the dm::Activity handle declares no argument");
    } else {
      static_assert(std::is_same_v<typename Traits::Input, std::tuple_element_t<0, std::tuple<In...>>>,
                    "the function's argument is not the one its dm::Activity handle declares");
    }
    return add(std::string_view(activity.name()), std::move(f));
  }

  /// Like add(), with an orchestration's handle.
  template <class R, class... In, class F>
  Registry& add(const Orchestration<R(In...)>& orchestration, F f, const OrchestrationOptions& options = {}) {
    using Traits = detail::HandlerTraits<F>;
    static_assert(std::is_same_v<typename Traits::ContextType, OrchestrationContext>,
                  "an orchestration takes dm::OrchestrationContext&");
    static_assert(std::is_same_v<typename Traits::Result, Task<R>>,
                  "the function's result is not the one its dm::Orchestration handle declares");
    if constexpr (sizeof...(In) == 0) {
      static_assert(std::is_void_v<typename Traits::Input>,
                    "the dm::Orchestration handle declares no argument");
    } else {
      static_assert(std::is_same_v<typename Traits::Input, std::tuple_element_t<0, std::tuple<In...>>>,
                    "the function's argument is not the one its dm::Orchestration handle declares");
    }
    return add(std::string_view(orchestration.name()), std::move(f), options);
  }

  /// The requested version, or the highest. Null if not registered.
  [[nodiscard]] std::shared_ptr<const OrchestrationHandler> find_orchestration(
      std::string_view name, const std::optional<std::string>& version) const;
  /// The activity of that name. Null if not registered.
  [[nodiscard]] std::shared_ptr<const ActivityHandler> find_activity(std::string_view name) const;
  /// All names, each with its versions from the lowest.
  [[nodiscard]] std::map<std::string, std::vector<std::string>> orchestrations() const;
  [[nodiscard]] std::vector<std::string> activity_names() const;

 private:
  Registry& add_orchestration(std::string_view name, const OrchestrationOptions& options,
                              std::function<Task<Payload>(OrchestrationContext&, Payload)> invoke);
  Registry& add_activity(std::string_view name,
                         std::variant<ActivityHandler::Function, ActivityHandler::Coroutine> run);

  using Version = std::array<std::uint32_t, 3>;
  std::map<std::string, std::map<Version, std::shared_ptr<const OrchestrationHandler>>, std::less<>>
      orchestrations_;
  std::map<std::string, std::shared_ptr<const ActivityHandler>, std::less<>> activities_;
};

}  // namespace duramen::inline v0
