// The interface of an orchestration to the engine.
//
// An orchestration is a coroutine: `dm::Task<R> name(dm::OrchestrationContext& ctx, In input)`. The engine
// may run it again from its beginning at any time, so it must do the same for the same history: it must not
// use a clock, randomness, I/O, threads or the order of a hash map. Activities do everything else. Parameters
// are passed by value. All calls happen on the runtime's loop; an orchestration must not block.
//
// A call that gives the engine something that no store can hold throws. Names, ids and keys are UTF-8 text
// without NUL and at most max_name_bytes long, tags max_tag_bytes (<duramen/limits.hpp>); names of
// orchestrations, activities, events and queues, tags, keys, and ids of instances must not be empty; versions
// have the form 1.2.3. Inputs are UTF-8 text without NUL, at most RuntimeOptions::max_payload_bytes long; a
// custom status and the value of a key have limits of their own. Too long is a LimitError; any other invalid
// name is a DurableError of type "InvalidName", any other invalid data one of type "InvalidPayload". Calls
// that act immediately throw it; calls that return a future throw it when the future is awaited. Nothing is
// recorded then, and a replay does the same. Code that does not catch it fails its instance with that
// failure; the message ends with the line of the call. Only a result cannot be refused in the code: an
// invalid one fails the instance with type "InvalidPayload", and with kind `limit` if it is too long.
#pragma once

#include <duramen/codec.hpp>
#include <duramen/combinators.hpp>
#include <duramen/future.hpp>
#include <duramen/ids.hpp>
#include <duramen/key_values.hpp>
#include <duramen/log.hpp>
#include <duramen/task.hpp>
#include <duramen/time.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace duramen::inline v0 {

namespace detail {

template <class Signature>
struct IsHandlerSignature : std::false_type {};
template <class R>
struct IsHandlerSignature<R()> : std::true_type {
  using Result = typename Owned<R>::type;
};
template <class R, class In>
struct IsHandlerSignature<R(In)> : std::bool_constant<!std::is_reference_v<In>> {
  using Result = typename Owned<R>::type;
  using Input = typename Owned<In>::type;
};

/// A name and a signature.
template <class Signature>
class Handle {
 public:
  static_assert(IsHandlerSignature<Signature>::value,
                "a handle is declared as R() or R(In), with In a value: it travels through the store");
  explicit constexpr Handle(const char* name) noexcept : name_(name) {}
  [[nodiscard]] constexpr const char* name() const noexcept { return name_; }

 private:
  const char* name_;
};

}  // namespace detail

/// A name with its types: `inline constexpr dm::Activity<Receipt(Order)> Charge{"Charge"};` Scheduling and
/// registering through the handle makes a wrong argument or result a compile error.
template <class Signature>
class Activity : public detail::Handle<Signature> {
 public:
  using detail::Handle<Signature>::Handle;
};

/// The same for an orchestration: `inline constexpr dm::Orchestration<Receipt(Order)> Checkout{"checkout"};`
template <class Signature>
class Orchestration : public detail::Handle<Signature> {
 public:
  using detail::Handle<Signature>::Handle;
};

/// Options of a child.
class ChildOptions {
 public:
  ChildOptions() = default;
  /// The child's id, at most max_name_bytes. By default it is made from the parent's:
  /// `{parent}::sub::{execution}.{event}`, with only the beginning of the parent's id and a hash of it if
  /// that would be longer than 200 bytes: such an id never has more.
  ChildOptions& id(InstanceId id) {
    id_ = std::move(id);
    return *this;
  }
  /// The version to run, of the form 1.2.3. By default the highest that is registered when the child starts.
  ChildOptions& version(std::string version) {
    version_ = std::move(version);
    return *this;
  }

 private:
  friend class OrchestrationContext;
  std::optional<InstanceId> id_;
  std::optional<std::string> version_;
};

/// The type of `co_await continue_as_new()`, so that `co_return co_await ctx.continue_as_new(next);` compiles
/// in any orchestration. No value of it exists.
class Never {
 public:
  template <class T>
  operator T() const {  // NOLINT: stands for any type
    throw std::logic_error("continue_as_new() does not return");
  }
};

/// The interface of an orchestration to the engine. The runtime creates one for each run of the code. Take it
/// by reference; do not store it.
class OrchestrationContext {
 public:
  explicit OrchestrationContext(core::Execution& execution) noexcept : execution_(execution) {}
  OrchestrationContext(const OrchestrationContext&) = delete;
  OrchestrationContext& operator=(const OrchestrationContext&) = delete;

  /// The instance and execution, and the name and version of the code.
  [[nodiscard]] const InstanceId& instance_id() const noexcept;
  [[nodiscard]] ExecutionId execution_id() const noexcept;
  [[nodiscard]] const std::string& orchestration_name() const noexcept;
  [[nodiscard]] const std::string& orchestration_version() const noexcept;
  /// True while the code repeats what history already records.
  [[nodiscard]] bool is_replaying() const noexcept;

  // -- activities ---------------------------------------------------------------------------------

  /// Runs an activity. Awaiting it throws ActivityError if it fails, DecodeError if its result is not an R.
  template <class R, class In, class Arg>
    requires std::convertible_to<Arg&&, In>
  [[nodiscard]] DurableFuture<R> schedule_activity(
      const Activity<R(In)>& activity, Arg&& input,
      std::source_location where = std::source_location::current()) {
    return activity_leaf<R>(activity.name(), encode_payload<In>(static_cast<In>(std::forward<Arg>(input))),
                            where);
  }
  template <class R>
  [[nodiscard]] DurableFuture<R> schedule_activity(
      const Activity<R()>& activity, std::source_location where = std::source_location::current()) {
    return activity_leaf<R>(activity.name(), Payload::none(), where);
  }
  /// The same by name: `schedule_activity<Receipt>("Charge", order)`.
  template <class R = std::string, class In>
  [[nodiscard]] DurableFuture<R> schedule_activity(
      std::string_view name, const In& input, std::source_location where = std::source_location::current()) {
    return activity_leaf<R>(std::string(name), detail::encode_input(input), where);
  }
  template <class R = std::string>
  [[nodiscard]] DurableFuture<R> schedule_activity(
      std::string_view name, std::source_location where = std::source_location::current()) {
    return activity_leaf<R>(std::string(name), Payload::none(), where);
  }

  // -- time and events ----------------------------------------------------------------------------

  /// Completes after `delay`, counted from its first poll. Durable: a restart does not reset it. Fires at the
  /// latest at the end of the year 9999 (latest_timer), however long the delay.
  template <class Rep, class Period>
  [[nodiscard]] DurableFuture<void> schedule_timer(
      std::chrono::duration<Rep, Period> delay,
      std::source_location where = std::source_location::current()) {
    return future<void>(detail::TimerRequest{round_up(delay)}, where);
  }
  /// The next unconsumed external event of that name. Events are kept in order of arrival, across
  /// continue-as-new; none is lost.
  template <class T = std::string>
  [[nodiscard]] DurableFuture<T> schedule_wait(std::string name,
                                               std::source_location where = std::source_location::current()) {
    return future<T>(event::ExternalSubscribed{std::move(name)}, where);
  }
  /// The next message of a queue: first in, first out; each message is received once.
  template <class T = std::string>
  [[nodiscard]] DurableFuture<T> dequeue_event(std::string queue,
                                               std::source_location where = std::source_location::current()) {
    return future<T>(event::QueueSubscribed{std::move(queue)}, where);
  }

  // -- other orchestrations -----------------------------------------------------------------------

  /// Runs a child. Awaiting it throws SubOrchestrationError if it fails or is cancelled. Dropping it cancels
  /// it and all its descendants.
  template <class R, class In, class Arg>
    requires std::convertible_to<Arg&&, In>
  [[nodiscard]] DurableFuture<R> schedule_sub_orchestration(
      const Orchestration<R(In)>& child, Arg&& input, ChildOptions options = {},
      std::source_location where = std::source_location::current()) {
    return child_leaf<R>(child.name(), encode_payload<In>(static_cast<In>(std::forward<Arg>(input))),
                         std::move(options), where);
  }
  template <class R>
  [[nodiscard]] DurableFuture<R> schedule_sub_orchestration(
      const Orchestration<R()>& child, ChildOptions options = {},
      std::source_location where = std::source_location::current()) {
    return child_leaf<R>(child.name(), Payload::none(), std::move(options), where);
  }
  template <class R = std::string, class In>
  [[nodiscard]] DurableFuture<R> schedule_sub_orchestration(
      std::string_view name, const In& input, ChildOptions options = {},
      std::source_location where = std::source_location::current()) {
    return child_leaf<R>(std::string(name), detail::encode_input(input), std::move(options), where);
  }
  template <class R = std::string>
  [[nodiscard]] DurableFuture<R> schedule_sub_orchestration(
      std::string_view name, std::source_location where = std::source_location::current()) {
    return child_leaf<R>(std::string(name), Payload::none(), {}, where);
  }
  /// Starts a detached orchestration immediately. It has no parent and is unaffected by the outcome of this
  /// one. If the id is taken, nothing is started, and the runtime logs a warning that names both instances.
  template <class In>
  void schedule_orchestration(std::string_view name, InstanceId instance, const In& input,
                              std::optional<std::string> version = std::nullopt,
                              std::source_location where = std::source_location::current()) {
    chain(event::OrchestrationChained{std::string(name), std::move(instance), detail::encode_input(input),
                                      std::move(version)},
          where);
  }
  /// Ends this execution and begins the next with a new history. Must be awaited, and never returns: write
  /// `co_return co_await ctx.continue_as_new(next);`. Unconsumed events, custom status and key-values are
  /// carried forward; running activities, timers and children are cancelled. It waits for the shields that
  /// other Tasks are in. If the instance is being cancelled, the instance ends as cancelled instead, also
  /// from inside a shield: a long compensation belongs in a child.
  template <class In>
  [[nodiscard]] DurableFuture<Never> continue_as_new(
      const In& input, std::optional<std::string> version = std::nullopt,
      std::source_location where = std::source_location::current()) {
    return continue_with(detail::encode_input(input), std::move(version), where);
  }

  // -- recorded values ----------------------------------------------------------------------------

  /// A random UUID.
  [[nodiscard]] DurableFuture<std::string> new_guid(
      std::source_location where = std::source_location::current()) {
    return future<std::string>(detail::RecordedValue::new_guid, where);
  }
  /// The time of the turn that first executed this call.
  [[nodiscard]] DurableFuture<TimePoint> utc_now(
      std::source_location where = std::source_location::current());

  // -- visible state. These act immediately, in call order. ---------------------------------------

  /// Text shown to clients and tools. Throws LimitError above max_custom_status_bytes.
  void set_custom_status(std::string status, std::source_location where = std::source_location::current());
  void reset_custom_status(std::source_location where = std::source_location::current());
  [[nodiscard]] const std::optional<std::string>& get_custom_status() const noexcept;
#ifdef DURAMEN_TEST_LEVEL_2
  /// Only in the build that tests engine versions: records an event that a node of version 1 cannot read.
  void test_mark(std::string name, std::source_location where = std::source_location::current());
#endif

  /// Key-values belong to the instance and survive continue-as-new. Throws LimitError above max_keys keys or
  /// max_key_value_bytes for a value.
  template <class T>
  void set_kv_value(std::string key, const T& value,
                    std::source_location where = std::source_location::current()) {
    set_kv(std::move(key), detail::encode_input(value), where);
  }
  template <class T = std::string>
  [[nodiscard]] std::optional<T> get_kv_value(const std::string& key) const {
    const KeyValueEntry* entry = find_kv(key);
    if (entry == nullptr) return std::nullopt;
    return decode_payload<T>(entry->value);
  }
  /// All of them, by key.
  [[nodiscard]] const KeyValues& get_kv_all_values() const noexcept;
  void clear_kv_value(std::string key, std::source_location where = std::source_location::current());
  void clear_all_kv_values(std::source_location where = std::source_location::current());
  /// Clears values last set before `time`; returns how many.
  std::size_t prune_kv_values_updated_before(TimePoint time,
                                             std::source_location where = std::source_location::current());

  /// Writes a line to the runtime's log once, when the turn is committed; never again on replay. Accepts any
  /// text, as it is not stored: a text longer than max_trace_bytes is cut, and its end has the original
  /// length; bytes that are NUL or not UTF-8 become U+FFFD.
  void trace(LogLevel level, std::string text);
  void trace_info(std::string text) { trace(LogLevel::info, std::move(text)); }
  void trace_warning(std::string text) { trace(LogLevel::warning, std::move(text)); }
  void trace_error(std::string text) { trace(LogLevel::error, std::move(text)); }
  void trace_debug(std::string text) { trace(LogLevel::debug, std::move(text)); }

  // -- several at once ----------------------------------------------------------------------------

  /// The first of two or three branches to finish. If it failed, awaiting the select throws its failure.
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
  /// The first of a list of branches to finish: its index and its value.
  template <class B, class T = detail::BranchValue<B>>
  [[nodiscard]] DurableFuture<std::pair<std::size_t, detail::VoidAsMonostate<T>>> select(
      std::vector<B> branches) {
    return DurableFuture<std::pair<std::size_t, detail::VoidAsMonostate<T>>>(
        std::make_unique<detail::SelectList<T>>(execution_, as_branches<T>(std::move(branches))),
        &detail::SelectList<T>::take);
  }

  /// The values of all branches, in argument order. Waits for every branch even if one fails; then throws the
  /// first failure in argument order. Use as_result() or attempt() on the branches to see each.
  template <class B, class T = detail::BranchValue<B>>
  [[nodiscard]] DurableFuture<std::vector<detail::VoidAsMonostate<T>>> join(std::vector<B> branches) {
    return DurableFuture<std::vector<detail::VoidAsMonostate<T>>>(
        std::make_unique<detail::JoinList<T>>(execution_, as_branches<T>(std::move(branches))),
        &detail::JoinList<T>::take);
  }
  template <class A, class B>
  [[nodiscard]] auto join2(A first, B second) {
    return join_of(detail::as_branch(execution_, std::move(first)),
                   detail::as_branch(execution_, std::move(second)));
  }
  template <class A, class B, class C>
  [[nodiscard]] auto join3(A first, B second, C third) {
    return join_of(detail::as_branch(execution_, std::move(first)),
                   detail::as_branch(execution_, std::move(second)),
                   detail::as_branch(execution_, std::move(third)));
  }

  /// `branch` with a time limit. After `limit` it is cancelled with reason `timeout`, and a DurableError of
  /// kind timeout is thrown. If a Task in it is inside a shield at that time, the Task runs to the end of the
  /// shield first: the whole may take `limit` plus the rest of the shield.
  template <class Rep, class Period, class B>
  [[nodiscard]] auto with_timeout(std::chrono::duration<Rep, Period> limit, B branch) {
    using T = detail::BranchValue<B>;
    return DurableFuture<T>(
        std::make_unique<detail::TimeoutOf<T>>(execution_, detail::as_branch(execution_, std::move(branch)),
                                               schedule_timer(limit)),
        &detail::TimeoutOf<T>::take);
  }

  // -- cleaning up --------------------------------------------------------------------------------

  /// Runs `task` shielded, for compensation, at most until `deadline`. A graceful cancellation, a race that
  /// the Task loses and a time limit around it wait for the end of the shield; also inside the branches of a
  /// combinator. Only its deadline, the deadline of a shield around it, CancelMode::terminate, and any cancel
  /// of code that is not graceful cut it off: with the shields inside it. At the deadline it throws as
  /// with_timeout() does.
  ///
  /// A Task that is dropped inside a shield (its future goes out of scope) is kept until the shield has
  /// ended, and the instance ends after that. Code after the shield does not run. A Task that refers to
  /// objects of other frames (reference parameters, captures, views) cannot be kept: it is destroyed, and the
  /// runtime logs a warning with the line of the shield. References inside a closure or a struct
  /// that is passed by value are not seen: do not drop such a Task inside a shield.
  template <class Rep, class Period, class T>
  [[nodiscard]] Task<T> shield(std::chrono::duration<Rep, Period> deadline, Task<T> task,
                               std::source_location where = std::source_location::current()) {
    return run_shielded<T>(*this, round_up(deadline), std::move(task), where);
  }

 private:
  template <class R>
  DurableFuture<R> future(detail::LeafRequest request, std::source_location where) {
    return DurableFuture<R>(make_leaf(std::move(request), where), &detail::read_leaf<R>);
  }
  template <class R>
  DurableFuture<R> activity_leaf(std::string name, Payload input, std::source_location where) {
    return future<R>(event::ActivityScheduled{std::move(name), std::move(input), {}, {}, {}}, where);
  }
  template <class R>
  DurableFuture<R> child_leaf(std::string name, Payload input, ChildOptions options,
                              std::source_location where) {
    event::SubOrchestrationScheduled request;
    request.name = std::move(name);
    request.input = std::move(input);
    request.version = std::move(options.version_);
    request.explicit_id = options.id_.has_value();
    if (options.id_) request.instance = std::move(*options.id_);
    return future<R>(std::move(request), where);
  }
  template <class T, class B>
  std::vector<DurableFuture<T>> as_branches(std::vector<B> branches) {
    if constexpr (std::is_same_v<B, DurableFuture<T>>) {
      return branches;
    } else {
      std::vector<DurableFuture<T>> futures;
      futures.reserve(branches.size());
      for (B& branch : branches) futures.push_back(detail::as_branch(execution_, std::move(branch)));
      return futures;
    }
  }
  template <class... Ts>
  DurableFuture<Either<Ts...>> select_of(DurableFuture<Ts>... branches) {
    return DurableFuture<Either<Ts...>>(
        std::make_unique<detail::SelectOf<Ts...>>(execution_, std::move(branches)...),
        &detail::SelectOf<Ts...>::take);
  }
  template <class... Ts>
  DurableFuture<std::tuple<detail::VoidAsMonostate<Ts>...>> join_of(DurableFuture<Ts>... branches) {
    return DurableFuture<std::tuple<detail::VoidAsMonostate<Ts>...>>(
        std::make_unique<detail::JoinOf<Ts...>>(execution_, std::move(branches)...),
        &detail::JoinOf<Ts...>::take);
  }
  template <class T>
  static Task<T> run_shielded(OrchestrationContext& ctx, Duration deadline, Task<T> task,
                              std::source_location where) {
    co_await detail::BeginShield(where);
    auto limited = DurableFuture<T>(std::make_unique<detail::TimeoutOf<T>>(
                                        ctx.execution_, detail::as_branch(ctx.execution_, std::move(task)),
                                        ctx.schedule_timer(deadline, where), true),
                                    &detail::TimeoutOf<T>::take);
    co_return co_await std::move(limited);
  }
  [[nodiscard]] std::unique_ptr<detail::Operation> make_leaf(detail::LeafRequest request,
                                                             std::source_location where);
  [[nodiscard]] DurableFuture<Never> continue_with(Payload input, std::optional<std::string> version,
                                                   std::source_location where);
  void chain(event::OrchestrationChained start, std::source_location where);
  void set_kv(std::string key, Payload value, std::source_location where);
  [[nodiscard]] const KeyValueEntry* find_kv(const std::string& key) const noexcept;

  core::Execution& execution_;
};

}  // namespace duramen::inline v0
