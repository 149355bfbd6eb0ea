// The client: starts instances, waits for them, cancels them, looks at them.
//
// A client needs only the store. It works from any process; in the process of a runtime it is faster, because the two
// find each other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <duramen/codec.hpp>
#include <duramen/failure.hpp>
#include <duramen/function.hpp>
#include <duramen/history.hpp>
#include <duramen/ids.hpp>
#include <duramen/provider.hpp>
#include <duramen/result.hpp>
#include <duramen/status.hpp>
#include <duramen/store.hpp>

namespace duramen::inline v0 {

/// How an instance stands, or how it ended.
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

struct StartOptions {
  std::optional<std::string> version;  ///< absent: the highest that is registered
  IdReuse reuse = IdReuse::reject;
};

class Client {
 public:
  explicit Client(Store store);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Returns when the start is durable. Starting the same thing under the same id again is `exists`, not an error; the
  /// id of something else is the error `already_exists`.
  template <class In>
  Result<StartOutcome> start(InstanceId instance, std::string_view orchestration, const In& input,
                             StartOptions options = {}) {
    return start_payload(std::move(instance), orchestration, encode_input(input), std::move(options));
  }
  Result<StartOutcome> start(InstanceId instance, std::string_view orchestration) {
    return start_payload(std::move(instance), orchestration, Payload::none(), {});
  }

  /// The same without blocking: `done` is called when the start is durable, on a thread of the runtime or of this
  /// client; it must not block.
  using StartDone = UniqueFunction<void(Result<StartOutcome>)>;
  void start_async(StartRequest request, StartDone done);

  /// Waits until the instance has ended. `timed_out` if it has not by then, `not_found` if there is none.
  Result<InstanceState> wait(const InstanceId& instance, Duration timeout);

  /// Calls `done` once when the instance has ended, or with an error if it does not exist. Must not block in it.
  using WaitDone = UniqueFunction<void(Result<InstanceState>)>;
  void wait_async(const InstanceId& instance, WaitDone done);

  /// Starts an instance and calls `done` once when it has ended. One call to the store less than start and wait.
  void run_async(StartRequest request, WaitDone done);

  /// Asks the instance to end. True: the request is durable. False: it had ended before. `not_found` if there is none.
  Result<bool> cancel(const InstanceId& instance, std::string reason, CancelMode mode = CancelMode::graceful);

  /// Sends an event to whoever waits for that name in the instance, now or later; it is kept until then. To an instance
  /// that does not exist yet it is kept for a while (`parked`); to one that has ended it is not (`finished`). Sending it
  /// again with the same `message_id` changes nothing (`duplicate`).
  template <class T>
  Result<EnqueueOutcome> raise_event(const InstanceId& instance, std::string name, const T& data,
                                     std::optional<std::string> message_id = std::nullopt) {
    return send(instance, work::ExternalRaised{std::move(name), encode_input(data)}, std::move(message_id));
  }
  /// The same for a queue of the instance: first in, first out, each message to one taker.
  template <class T>
  Result<EnqueueOutcome> enqueue_event(const InstanceId& instance, std::string queue, const T& data,
                                       std::optional<std::string> message_id = std::nullopt) {
    return send(instance, work::QueueMessage{std::move(queue), encode_input(data)}, std::move(message_id));
  }

  /// What the instance's key-value store holds now; empty if there is no such instance.
  [[nodiscard]] Result<KeyValues> get_key_values(const InstanceId& instance);
  [[nodiscard]] Result<InstanceInfo> get_instance(const InstanceId& instance);
  /// The events of the instance's current execution.
  [[nodiscard]] Result<std::vector<Event>> read_history(const InstanceId& instance);

 private:
  template <class In>
  static Payload encode_input(const In& input) {
    if constexpr (std::is_convertible_v<const In&, std::string_view>) {
      return Payload::text(std::string(std::string_view(input)));
    } else {
      return encode_payload<In>(input);
    }
  }
  Result<EnqueueOutcome> send(const InstanceId& instance, WorkItem item, std::optional<std::string> message_id);
  Result<StartOutcome> start_payload(InstanceId instance, std::string_view orchestration, Payload input,
                                     StartOptions options);

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace duramen::v0
