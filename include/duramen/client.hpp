// The client: starts instances, waits for them, sends to them, cancels them, looks at them, looks after them.
//
// A client needs only the store. It works from any process; in the process of a runtime it is faster, because
// the two find each other. Calls may come from any thread and block until the store has answered, unless they
// say otherwise.
//
// Every call returns a Result. What is wrong with the arguments is found before the store is asked: names and
// ids are UTF-8 without NUL, not empty, at most max_name_bytes (<duramen/limits.hpp>); payloads at most
// ClientOptions::max_payload_bytes.
//
// Calls that wait for a runtime (start and the waits) return `invalid_argument` at once when the caller is a
// thread that they would wait for: a runtime's loop (orchestrations, most log lines, callbacks of the calls
// that end in _async) or its store thread, or this client's own callback thread.
#pragma once

#include <duramen/bulk.hpp>
#include <duramen/codec.hpp>
#include <duramen/explanation.hpp>
#include <duramen/failure.hpp>
#include <duramen/function.hpp>
#include <duramen/history.hpp>
#include <duramen/ids.hpp>
#include <duramen/limits.hpp>
#include <duramen/outcome.hpp>
#include <duramen/provider.hpp>
#include <duramen/recorded_history.hpp>
#include <duramen/result.hpp>
#include <duramen/status.hpp>
#include <duramen/store.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace duramen::inline v0 {

template <class Signature>
class Orchestration;  // a typed handle, see <duramen/orchestration.hpp>

struct StartOptions {
  std::optional<std::string> version;  ///< absent: the highest that is registered
  IdReuse reuse = IdReuse::reject;
};

/// What became of a history that was to be imported.
enum class ImportOutcome : std::uint8_t {
  imported,
  exists,  ///< the id is taken; nothing was stored
};

/// How a client works.
struct ClientOptions {
  /// The largest input or event data that this client sends, in bytes; from 1 to payload_ceiling. A larger
  /// one is `limit_exceeded`. Give the runtimes of the store the same limit.
  std::size_t max_payload_bytes = default_payload_limit;
};

/// A door to the store. Cheap to keep, thread-safe; one per process is enough.
class Client {
 public:
  /// Throws std::invalid_argument for options that cannot work.
  explicit Client(Store store, ClientOptions options = {});
  /// Whoever still waits is told `shutting_down`.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // -- start ------------------------------------------------------------------------------------------------

  /// Returns when the start is durable. Starting the same thing under the same id again is `exists`, not an
  /// error; the id of something else is the error `already_exists`. A runtime in this process stores the
  /// start together with the first turn: if the store cannot hold that turn, nothing is stored, and the error
  /// (`invalid_argument`) gives the store's reason.
  template <class In>
    requires(!std::same_as<In, StartOptions>)
  Result<StartOutcome> start(InstanceId instance, std::string_view orchestration, const In& input,
                             StartOptions options = {}) {
    return start_payload(std::move(instance), orchestration, encode_input(input), std::move(options));
  }
  Result<StartOutcome> start(InstanceId instance, std::string_view orchestration, StartOptions options = {}) {
    return start_payload(std::move(instance), orchestration, Payload::none(), std::move(options));
  }
  /// The same through a handle: the input must be the one it declares.
  template <class R, class In>
  Result<StartOutcome> start(InstanceId instance, const Orchestration<R(In)>& orchestration,
                             const std::type_identity_t<In>& input, StartOptions options = {}) {
    return start_payload(std::move(instance), orchestration.name(), encode_payload<In>(input),
                         std::move(options));
  }
  template <class R>
  Result<StartOutcome> start(InstanceId instance, const Orchestration<R()>& orchestration,
                             StartOptions options = {}) {
    return start_payload(std::move(instance), orchestration.name(), Payload::none(), std::move(options));
  }

  using StartDone = UniqueFunction<void(Result<StartOutcome>)>;
  /// The same without blocking: `done` is called when the start is durable, on a thread of the runtime or of
  /// this client; it must not block. Before that the instance may be unknown to everything else, a cancel
  /// included.
  void start_async(StartRequest request, StartDone done);

  // -- wait -------------------------------------------------------------------------------------------------
  // A waiter is told at once, by the runtime in this process or by the store. Looking again every few seconds
  // is only the safety net. All answer `timed_out` (retryable) if it has not happened by then, `not_found` if
  // there is no such instance.

  /// Waits until the instance has ended.
  Result<InstanceState> wait(const InstanceId& instance, Duration timeout);
  /// The same with the result as an R; `invalid_argument` if it is not one.
  template <class R>
  Result<Outcome<R>> wait_for(const InstanceId& instance, Duration timeout) {
    return typed<R>(wait(instance, timeout));
  }
  /// The same for the result that the handle declares.
  template <class R, class... In>
  Result<Outcome<R>> wait(const InstanceId& instance, const Orchestration<R(In...)>& /*orchestration*/,
                          Duration timeout) {
    return wait_for<R>(instance, timeout);
  }

  using WaitDone = UniqueFunction<void(Result<InstanceState>)>;
  /// Calls `done` once when the instance has ended, or with an error if it does not exist. Must not block in
  /// it.
  void wait_async(const InstanceId& instance, WaitDone done);

  /// Starts an instance and calls `done` once when it has ended. One call to the store less than start and
  /// wait.
  void run_async(StartRequest request, WaitDone done);

  /// Waits until the custom status has changed since `last_version` (0: until there is one), or the instance
  /// has ended. The next wait begins at the `custom_status_version` that this one returned.
  Result<InstanceInfo> wait_for_status_change(const InstanceId& instance, std::uint64_t last_version,
                                              Duration timeout);

  /// Waits until the key has a value. `not_found` if the instance ends without giving it one.
  Result<Payload> wait_for_key_value(const InstanceId& instance, const std::string& key, Duration timeout);
  /// The same as a T; `invalid_argument` if it is not one.
  template <class T>
  Result<T> wait_for_key_value(const InstanceId& instance, const std::string& key, Duration timeout) {
    Result<Payload> value = wait_for_key_value(instance, key, timeout);
    if (!value) return value.error();
    return decoded<T>("wait_for_key_value", *value);
  }

  // -- send -------------------------------------------------------------------------------------------------

  /// Asks the instance to end. True: the request is durable. False: it had ended before. `not_found` if there
  /// is none.
  Result<bool> cancel(const InstanceId& instance, std::string reason, CancelMode mode = CancelMode::graceful);
  /// The same for every instance that matches and has not ended (or has one of the statuses asked for). The
  /// filter must name something; an empty id_prefix stands for everything.
  Result<CancelReport> cancel_instances(InstanceFilter filter, std::string reason,
                                        CancelMode mode = CancelMode::graceful, BulkOptions options = {});

  /// Sends an event to whoever waits for that name in the instance, now or later; it is kept until then. To
  /// an instance that does not exist yet it is kept for a while (`parked`); to one that has ended it is not
  /// (`finished`). Sending it again with the same `message_id` changes nothing (`duplicate`).
  template <class T>
  Result<EnqueueOutcome> raise_event(const InstanceId& instance, std::string name, const T& data,
                                     std::optional<std::string> message_id = std::nullopt) {
    return send(instance, message::ExternalRaised{std::move(name), encode_input(data)},
                std::move(message_id));
  }
  /// The same for a queue of the instance: first in, first out, each message to one taker.
  template <class T>
  Result<EnqueueOutcome> enqueue_event(const InstanceId& instance, std::string queue, const T& data,
                                       std::optional<std::string> message_id = std::nullopt) {
    return send(instance, message::QueueMessage{std::move(queue), encode_input(data)}, std::move(message_id));
  }

  // -- look -------------------------------------------------------------------------------------------------

  /// How one instance stands. `not_found` if there is none.
  [[nodiscard]] Result<InstanceInfo> get_instance(const InstanceId& instance);
  /// One page of the instances that match.
  [[nodiscard]] Result<InstancePage> list(const InstanceQuery& query);
  /// Calls `visit` for every instance that matches, page by page, until it returns false (if it returns
  /// anything). Answers how many it was called for. `query.limit` is the size of a page.
  template <class Visit>
  Result<std::size_t> for_each_instance(InstanceQuery query, Visit visit) {
    return visit_instances(std::move(query), [&visit](const InstanceInfo& info) {
      if constexpr (std::is_void_v<std::invoke_result_t<Visit&, const InstanceInfo&>>) {
        std::invoke(visit, info);
        return true;
      } else {
        return static_cast<bool>(std::invoke(visit, info));
      }
    });
  }
  /// The instance's executions that were not pruned, oldest first.
  [[nodiscard]] Result<std::vector<ExecutionInfo>> list_executions(const InstanceId& instance);
  /// The events of the instance's current execution, or of the one given.
  [[nodiscard]] Result<std::vector<Event>> read_history(const InstanceId& instance);
  [[nodiscard]] Result<std::vector<Event>> read_history(const InstanceId& instance, ExecutionId execution);
  /// The instance and everything below it, parents before children. Without results.
  [[nodiscard]] Result<std::vector<InstanceInfo>> get_instance_tree(const InstanceId& root);

  /// What the instance's key-value store holds now; empty if there is no such instance.
  [[nodiscard]] Result<KeyValues> get_key_values(const InstanceId& instance);
  [[nodiscard]] Result<std::optional<Payload>> get_key_value(const InstanceId& instance,
                                                             const std::string& key);
  /// The same as a T; `invalid_argument` if it is not one.
  template <class T>
  [[nodiscard]] Result<std::optional<T>> get_key_value(const InstanceId& instance, const std::string& key) {
    auto value = get_key_value(instance, key);
    if (!value) return value.error();
    if (!*value) return std::optional<T>{};
    Result<T> read = decoded<T>("get_key_value", **value);
    if (!read) return read.error();
    return std::optional<T>{*std::move(read)};
  }

  /// What the instance waits for, what keeps it from going on, and why it or parts of it were cancelled.
  [[nodiscard]] Result<Explanation> explain(const InstanceId& instance, const ExplainOptions& options = {});

  // -- look after -------------------------------------------------------------------------------------------

  /// Deletes the instance with everything below it. `not_found`; `conflict` if something of it has not ended
  /// and the mode is not force; `invalid_argument` for a sub-orchestration, which goes with its root.
  Result<DeleteResult> delete_instance(const InstanceId& instance, DeleteMode mode = DeleteMode::finished);
  /// The same for every root that matches. `finished` looks only at instances that have ended, unless the
  /// filter asks for other statuses. The filter must name something; an empty id_prefix stands for
  /// everything.
  Result<DeleteReport> delete_instances(InstanceFilter filter, DeleteMode mode = DeleteMode::finished,
                                        BulkOptions options = {});

  /// Removes old executions of an instance, never the current one. The options must say which.
  Result<PruneResult> prune_executions(const InstanceId& instance, const PruneOptions& options);
  /// The same for every instance that matches. The filter must name something, as above.
  Result<PruneReport> prune_executions(InstanceFilter filter, const PruneOptions& options,
                                       BulkOptions bulk = {});

  /// How many instances, executions and events the store holds, and what waits in its queues.
  [[nodiscard]] Result<StoreMetrics> metrics();
  [[nodiscard]] Result<QueueDepths> queue_depths();

  // -- carry over -------------------------------------------------------------------------------------------

  /// All that is recorded of an instance: the histories of its executions.
  [[nodiscard]] Result<RecordedInstance> export_instance(const InstanceId& instance);
  /// Stores an instance that has ended as it was recorded, result, status and key-values included; its times
  /// in lists are those of the import. It hangs below its parent if that is in the store.
  Result<ImportOutcome> import_instance(RecordedInstance recorded);
  /// Can it be imported? `invalid_argument` for one that has not ended or whose first execution is not
  /// recorded: work in flight cannot be carried over. import_instance answers the same.
  [[nodiscard]] static Result<void> check_import(const RecordedInstance& recorded);

 private:
  template <class In>
  static Payload encode_input(const In& input) {
    if constexpr (std::is_convertible_v<const In&, std::string_view>) {
      return Payload::text(std::string(std::string_view(input)));
    } else {
      return encode_payload<In>(input);
    }
  }
  template <class T>
  static Result<T> decoded(const char* operation, const Payload& payload) {
    try {
      return decode_payload<T>(payload);
    } catch (const DecodeError& error) {
      return Error{ErrorCode::invalid_argument, operation, error.what(), false};
    }
  }
  template <class R>
  static Result<Outcome<R>> typed(Result<InstanceState> state) {
    if (!state) return state.error();
    if (state->failure) return Outcome<R>::failed(state->status, std::move(*state->failure));
    if constexpr (std::is_void_v<R>) {
      return Outcome<R>::completed_with({});
    } else {
      Result<R> value = decoded<R>("wait", state->output ? *state->output : Payload::none());
      if (!value) return value.error();
      return Outcome<R>::completed_with(*std::move(value));
    }
  }
  Result<EnqueueOutcome> send(const InstanceId& instance, MessageBody item,
                              std::optional<std::string> message_id);
  Result<StartOutcome> start_payload(InstanceId instance, std::string_view orchestration, Payload input,
                                     StartOptions options);
  Result<std::size_t> visit_instances(InstanceQuery query,
                                      const std::function<bool(const InstanceInfo&)>& visit);

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace duramen::inline v0
