// The client: starts, awaits, signals, cancels, inspects and manages instances.
//
// A client needs only the store and works from any process. It is faster in the process of a runtime, because
// the two communicate directly. Calls may come from any thread and block until the store has answered, unless
// documented otherwise.
//
// Every call returns a Result. Arguments are checked before the store is called: names and ids must be
// non-empty UTF-8 without NUL, at most max_name_bytes (<duramen/limits.hpp>); payloads at most
// ClientOptions::max_payload_bytes.
//
// Calls that wait for a runtime (start and the waits) return `invalid_argument` immediately if the calling
// thread is one that must answer them: the loop of a runtime on the same store (orchestrations, most log
// records, callbacks of the _async calls), its store thread, or this client's callback thread. The waits also
// do so on the thread of such a runtime's coroutine activities, because all of them share it. A function
// activity may wait. A client of another store may be called on all these threads, but blocks the runtime
// until the call returns. Copies of a Store are the same store; a second one that you open on the same file
// or database is another store, so that the call is not refused and waits until its timeout.
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

// A typed handle, see <duramen/orchestration.hpp>.
template <class Signature>
class Orchestration;

struct StartOptions {
  /// Of the form 1.2.3. Absent: the highest registered version.
  std::optional<std::string> version = std::nullopt;
  IdReuse reuse = IdReuse::reject;
};

/// The result of an import.
enum class ImportOutcome : std::uint8_t {
  imported,
  exists,  ///< the id is taken; nothing was stored
};

/// The answer to a cancel. As a condition: the instance had not ended, and is being cancelled.
struct CancelAnswer {
  bool ended = false;  ///< the instance had already ended: nothing was asked
  /// It had been asked to stop before, at least as strongly. This request leaves no trace; `explain` has the
  /// requester and the reason of the first one.
  bool repeated = false;

  explicit operator bool() const noexcept { return !ended; }
};

/// Options of a client.
struct ClientOptions {
  /// The largest input or event data that this client sends, in bytes; from 1 to payload_ceiling. A larger
  /// payload fails with `limit_exceeded`. Give the runtimes of the store the same limit.
  std::size_t max_payload_bytes = default_payload_limit;
  /// The person or program that this client acts for: UTF-8 without NUL, at most max_name_bytes. Stored with
  /// every start, cancel, event and message that this client sends and that names no other. Duramen does not
  /// check it.
  std::optional<std::string> requested_by = std::nullopt;
};

/// Access to a store. Cheap to keep, thread-safe; one per process is enough.
class Client {
 public:
  /// Throws std::invalid_argument for options that cannot work.
  explicit Client(Store store, ClientOptions options = {});
  /// Pending waits fail with `shutting_down`.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // -- start ------------------------------------------------------------------------------------------------

  /// Returns when the start is durable. Starting the same orchestration with the same input under the same id
  /// again returns `exists`, which is not an error; an id used by a different start is the error
  /// `already_exists`. A runtime in this process stores the start together with the first turn: if the store
  /// cannot hold that turn, nothing is stored, and the error (`invalid_argument`) gives the store's reason.
  template <class In>
    requires(!std::same_as<In, StartOptions>)
  Result<StartOutcome> start(InstanceId instance, std::string_view orchestration, const In& input,
                             StartOptions options = {}) {
    return start_payload(std::move(instance), orchestration, detail::encode_input(input), std::move(options));
  }
  Result<StartOutcome> start(InstanceId instance, std::string_view orchestration, StartOptions options = {}) {
    return start_payload(std::move(instance), orchestration, Payload::none(), std::move(options));
  }
  /// Like start(), through a handle: the input must have the type it declares.
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
  /// Like start(), without blocking. `done` is called once the start is durable, on a thread of the runtime
  /// or of this client, and must not block. Until then other calls, cancel included, may not find the
  /// instance.
  void start_async(StartRequest request, StartDone done);

  // -- wait -------------------------------------------------------------------------------------------------
  // The runtime in this process or the store notifies waiters; a poll every few seconds is the fallback. All
  // return `timed_out` (retryable) at the deadline and `not_found` for an unknown instance.

  /// Waits until the instance has ended.
  Result<InstanceState> wait(const InstanceId& instance, Duration timeout);
  /// Like wait(), with the result as an R; `invalid_argument` if it is not one.
  template <class R>
  Result<Outcome<R>> wait_for(const InstanceId& instance, Duration timeout) {
    return typed<R>(wait(instance, timeout));
  }
  /// Like wait_for(), with the result type that the handle declares.
  template <class R, class... In>
  Result<Outcome<R>> wait(const InstanceId& instance, const Orchestration<R(In...)>& /*orchestration*/,
                          Duration timeout) {
    return wait_for<R>(instance, timeout);
  }

  using WaitDone = UniqueFunction<void(Result<InstanceState>)>;
  /// Calls `done` once: when the instance has ended, or with an error if it does not exist. `done` must not
  /// block.
  void wait_async(const InstanceId& instance, WaitDone done);

  /// Starts an instance and calls `done` once when it has ended. Saves one store call compared with start and
  /// wait.
  void run_async(StartRequest request, WaitDone done);

  /// Waits until the custom status differs from `last_version` (0: until there is one), or the instance has
  /// ended. Pass the returned `custom_status_version` to the next wait.
  Result<InstanceInfo> wait_for_status_change(const InstanceId& instance, std::uint64_t last_version,
                                              Duration timeout);

  /// Waits until the key has a value. Returns `not_found` if the instance ends without setting it.
  Result<Payload> wait_for_key_value(const InstanceId& instance, const std::string& key, Duration timeout);
  /// The same, read as a T; `invalid_argument` if it is not one.
  template <class T>
  Result<T> wait_for_key_value(const InstanceId& instance, const std::string& key, Duration timeout) {
    Result<Payload> value = wait_for_key_value(instance, key, timeout);
    if (!value) return value.error();
    return decoded<T>("wait_for_key_value", *value);
  }

  // -- send -------------------------------------------------------------------------------------------------

  /// Asks the instance to end. The request is durable when this returns, unless the instance had already
  /// ended. `not_found` if it does not exist.
  Result<CancelAnswer> cancel(const InstanceId& instance, std::string reason,
                              CancelMode mode = CancelMode::graceful);
  /// Cancels every matching instance that has not ended (or has one of the statuses in the filter). The
  /// filter must not be empty; an empty id_prefix matches every instance.
  Result<CancelReport> cancel_instances(InstanceFilter filter, std::string reason,
                                        CancelMode mode = CancelMode::graceful, BulkOptions options = {});

  /// Sends an event. It is kept until the instance waits for that name. If the instance does not exist yet,
  /// the store keeps the event for a limited time (`parked`); if it has ended, the event is dropped
  /// (`finished`). A repeated `message_id` has no effect (`duplicate`).
  template <class T>
  Result<EnqueueOutcome> raise_event(const InstanceId& instance, std::string name, const T& data,
                                     std::optional<std::string> message_id = std::nullopt) {
    return send(instance, message::ExternalRaised{std::move(name), detail::encode_input(data)},
                std::move(message_id));
  }
  /// Like raise_event(), to a queue of the instance: first in, first out; each message is received once.
  template <class T>
  Result<EnqueueOutcome> enqueue_event(const InstanceId& instance, std::string queue, const T& data,
                                       std::optional<std::string> message_id = std::nullopt) {
    return send(instance, message::QueueMessage{std::move(queue), detail::encode_input(data)},
                std::move(message_id));
  }

  // -- read -------------------------------------------------------------------------------------------------

  /// The current state of one instance. `not_found` if it does not exist.
  [[nodiscard]] Result<InstanceInfo> get_instance(const InstanceId& instance);
  /// One page of the matching instances.
  [[nodiscard]] Result<InstancePage> list(const InstanceQuery& query);
  /// Calls `visit` for every matching instance, page by page, until it returns false (if it returns a value).
  /// Returns the number of calls. `query.limit` is the page size.
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
  /// The events of the current execution, or of the given one.
  [[nodiscard]] Result<std::vector<Event>> read_history(const InstanceId& instance);
  [[nodiscard]] Result<std::vector<Event>> read_history(const InstanceId& instance, ExecutionId execution);
  /// The instance and all its descendants, parents before children. Without results.
  [[nodiscard]] Result<std::vector<InstanceInfo>> get_instance_tree(const InstanceId& root);

  /// The current key-values of the instance; empty if it does not exist.
  [[nodiscard]] Result<KeyValues> get_key_values(const InstanceId& instance);
  [[nodiscard]] Result<std::optional<Payload>> get_key_value(const InstanceId& instance,
                                                             const std::string& key);
  /// The same, read as a T; `invalid_argument` if it is not one.
  template <class T>
  [[nodiscard]] Result<std::optional<T>> get_key_value(const InstanceId& instance, const std::string& key) {
    auto value = get_key_value(instance, key);
    if (!value) return value.error();
    if (!*value) return std::optional<T>{};
    Result<T> read = decoded<T>("get_key_value", **value);
    if (!read) return read.error();
    return std::optional<T>{*std::move(read)};
  }

  /// Explains what the instance waits for, what blocks it, and why it or its steps were cancelled.
  [[nodiscard]] Result<Explanation> explain(const InstanceId& instance, const ExplainOptions& options = {});

  // -- manage -----------------------------------------------------------------------------------------------

  /// Deletes the instance and all its descendants. Errors: `not_found`; `conflict` if any of them has not
  /// ended and the mode is not force; `invalid_argument` for a sub-orchestration, which is deleted with its
  /// root.
  Result<DeleteResult> delete_instance(const InstanceId& instance, DeleteMode mode = DeleteMode::finished);
  /// Deletes every matching root. Mode `finished` considers only instances that have ended, unless the filter
  /// lists other statuses. The filter must not be empty; an empty id_prefix matches every instance.
  Result<DeleteReport> delete_instances(InstanceFilter filter, DeleteMode mode = DeleteMode::finished,
                                        BulkOptions options = {});

  /// Removes old executions of an instance, never the current one. The options must select them.
  Result<PruneResult> prune_executions(const InstanceId& instance, const PruneOptions& options);
  /// The same for every matching instance. The filter must not be empty, as above.
  Result<PruneReport> prune_executions(InstanceFilter filter, const PruneOptions& options,
                                       BulkOptions bulk = {});

  /// Counts the store's instances, executions and events, and the entries of its queues.
  [[nodiscard]] Result<StoreMetrics> metrics();
  [[nodiscard]] Result<QueueDepths> queue_depths();

  // -- import and export ------------------------------------------------------------------------------------

  /// Everything recorded about an instance: the histories of its executions.
  [[nodiscard]] Result<RecordedInstance> export_instance(const InstanceId& instance);
  /// Imports a finished instance with its result, status and key-values. Listings show the time of the
  /// import. The instance is attached to its parent if the parent is in the store.
  Result<ImportOutcome> import_instance(RecordedInstance recorded);
  /// Checks whether an instance can be imported, as import_instance does. `invalid_argument` if it has not
  /// ended or its first execution is not recorded: work in progress cannot be imported.
  [[nodiscard]] static Result<void> check_import(const RecordedInstance& recorded);

 private:
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
