// Starting, waiting, sending. Reading and managing are in management.cpp, explaining in explain.cpp.
#include <duramen/client.hpp>

#include "base/thread_executor.hpp"
#include "client/arguments.hpp"
#include "client/errors.hpp"
#include "client/impl.hpp"
#include "store/answers.hpp"
#include "store/local_hub.hpp"
#include <duramen/detail/mutant.hpp>

#include <stdexcept>

namespace duramen::inline v0 {

namespace {

Result<StartOutcome> settled(Result<StartOutcome> outcome, const InstanceId& instance) {
  if (outcome && *outcome == StartOutcome::conflict) {
    return Error{ErrorCode::already_exists, "start",
                 "the id \"" + instance.value +
                     "\" belongs to an instance that was started with another name or input",
                 false};
  }
  return outcome;
}

Result<std::optional<InstanceInfo>> status_after(Provider& provider, const InstanceId& instance,
                                                 std::uint64_t last) {
  auto info = provider.get_instance(instance);
  if (!info) return info.error();
  if (!*info) return client::no_instance("wait_for_status_change", instance);
  if ((*info)->custom_status_version <= last && !is_final((*info)->status))
    return std::optional<InstanceInfo>{};
  return info;
}

Result<std::optional<Payload>> value_of(Provider& provider, const InstanceId& instance,
                                        const std::string& key) {
  // In this order, so that a value written in the instance's last turn is not missed.
  auto info = provider.get_instance(instance);
  if (!info) return info.error();
  if (!*info) return client::no_instance("wait_for_key_value", instance);
  auto values = provider.get_key_values(instance);
  if (!values) return values.error();
  if (const auto found = values->find(key); found != values->end()) return std::optional(found->second.value);
  if (!is_final((*info)->status)) return std::optional<Payload>{};
  return Error{ErrorCode::not_found, "wait_for_key_value",
               "instance \"" + instance.value + "\" has ended without a value for the key \"" + key + "\"",
               false};
}

/// The time a runtime in this process has to take up a cancel before the store is called. Real time: code
/// that never returns may block the runtime's loop, and then the caller should not wait for it.
constexpr Duration patience{1000};

/// True if a runtime in this process has cancelled it, in one commit. If false, nothing has happened.
bool cancel_resident(detail::LocalHub& local_hub, const InstanceId& instance,
                     const message::CancelInstance& message) {
  // In a callback: the runtime may be waiting for this thread.
  if (ThreadExecutor::is_this_thread()) return false;
  client::OneShot<bool> answer;
  auto request = std::make_shared<detail::LocalCancel>();
  request->instance = instance;
  request->message = message;
  request->done = answer.setter();
  if (!local_hub.offer(request)) return false;
  if (const auto stored = answer.wait_for(patience)) return *stored;
  return !request->claim() && answer.wait();
}

}  // namespace

Client::Client(Store store, ClientOptions options) {
  if (options.max_payload_bytes == 0 || options.max_payload_bytes > payload_ceiling) {
    throw std::invalid_argument("ClientOptions: max_payload_bytes must be from 1 to " +
                                std::to_string(payload_ceiling));
  }
  if (Result<void> ok = client::check_requester("Client", options.requested_by); !ok)
    throw std::invalid_argument("ClientOptions: " + ok.error().message);
  impl_ = std::make_unique<Impl>(std::move(store), std::move(options));
}
Client::~Client() { impl_->waits->close(); }

Result<void> Client::Impl::check_may_wait_for_commit(const char* operation) const {
  const ThreadExecutor* const current = ThreadExecutor::current();
  if (current == nullptr || detail::mutant("the_loop_may_wait_for_itself")) return {};
  const bool own_store =
      current->serves(store.provider().get()) || detail::mutant("no_loop_may_wait_for_another_store");
  if (own_store && current->role() == ThreadExecutor::Role::commits) {
    return client::bad_argument(
        operation,
        std::string(operation) +
            " was called on a thread of a runtime of the same store: from an orchestration, a log sink, "
            "metrics or a callback. "
            "The runtime cannot work until the call returns, so it would never return. Call it from a thread "
            "of your own, or use start_async or wait_async; an orchestration starts others with "
            "ctx.schedule_orchestration or ctx.schedule_sub_orchestration");
  }
  if (waits->is_background()) {
    return client::bad_argument(operation,
                                std::string(operation) +
                                    " was called in a callback of this client, on the thread that has to "
                                    "answer it, so it would never return. Use start_async or wait_async "
                                    "there, or call it from a thread of your own");
  }
  return {};
}

Result<void> Client::Impl::check_may_wait_for_instance(const char* operation) const {
  const ThreadExecutor* const current = ThreadExecutor::current();
  if (current != nullptr && current->role() == ThreadExecutor::Role::coroutines &&
      current->serves(store.provider().get()) && !detail::mutant("a_coroutine_may_block_the_others")) {
    return client::bad_argument(
        operation, std::string(operation) +
                       " was called in a coroutine activity. All coroutine activities of a runtime share the "
                       "thread that it would block, and the instance may need that thread. Make the "
                       "activity a function, which has a thread of its own, or use wait_async");
  }
  return check_may_wait_for_commit(operation);
}

// -- start --------------------------------------------------------------------------------------------------

Result<StartOutcome> Client::start_payload(InstanceId instance, std::string_view orchestration, Payload input,
                                           StartOptions options) {
  if (Result<void> ok = impl_->check_may_wait_for_commit("start"); !ok) return ok.error();
  StartRequest request;
  request.instance = std::move(instance);
  request.start.orchestration = orchestration;
  request.start.input = std::move(input);
  request.start.version = std::move(options.version);
  request.reuse = options.reuse;
  client::OneShot<Result<StartOutcome>> answer;
  start_async(std::move(request), answer.setter());
  return answer.wait();
}

void Client::start_async(StartRequest request, StartDone done) {
  if (!request.start.requested_by) request.start.requested_by = impl_->options.requested_by;
  if (Result<void> ok = client::check_start(request, impl_->options.max_payload_bytes); !ok)
    return done(ok.error());
  const InstanceId instance = request.instance;
  StartDone settle = [instance, done = std::move(done)](Result<StartOutcome> outcome) mutable {
    done(settled(std::move(outcome), instance));
  };
  if (impl_->store.local_hub()->offer(request, settle)) return;
  impl_->waits->run_in_background([this, request = std::move(request), settle = std::move(settle)]() mutable {
    settle(base::the_one("start", impl_->provider.start_instances(std::span(&request, 1))));
  });
}

// -- wait ---------------------------------------------------------------------------------------------------

Result<InstanceState> Client::wait(const InstanceId& instance, Duration timeout) {
  if (Result<void> ok = client::check_instance("wait", instance); !ok) return ok.error();
  if (Result<void> ok = impl_->check_may_wait_for_instance("wait"); !ok) return ok.error();
  return impl_->waits->wait_for_end(instance, timeout);
}

void Client::wait_async(const InstanceId& instance, WaitDone done) {
  if (Result<void> ok = client::check_instance("wait", instance); !ok) return done(ok.error());
  impl_->waits->add_end(instance, std::move(done), true);
}

void Client::run_async(StartRequest request, WaitDone done) {
  if (Result<void> ok = client::check_start(request, impl_->options.max_payload_bytes); !ok)
    return done(ok.error());
  const InstanceId instance = request.instance;
  // The wait is added first: then the end cannot be missed, and needs no check of the store.
  auto wait = impl_->waits->add_end(instance, std::move(done), false);
  start_async(std::move(request), [waits = impl_->waits, wait](Result<StartOutcome> outcome) {
    if (!outcome) return waits->fail(wait, outcome.error());
    waits->started(wait, *outcome == StartOutcome::exists);
  });
}

Result<InstanceInfo> Client::wait_for_status_change(const InstanceId& instance, std::uint64_t last_version,
                                                    Duration timeout) {
  constexpr const char* operation = "wait_for_status_change";
  if (Result<void> ok = client::check_instance(operation, instance); !ok) return ok.error();
  if (Result<void> ok = impl_->check_may_wait_for_instance(operation); !ok) return ok.error();
  return impl_->waits->wait_for<InstanceInfo>(
      instance, timeout, operation, "changed its custom status since version " + std::to_string(last_version),
      [last_version](Provider& provider, const InstanceId& id) {
        return status_after(provider, id, last_version);
      });
}

Result<Payload> Client::wait_for_key_value(const InstanceId& instance, const std::string& key,
                                           Duration timeout) {
  constexpr const char* operation = "wait_for_key_value";
  if (Result<void> ok = client::check_instance(operation, instance); !ok) return ok.error();
  if (Result<void> ok = client::check_name(operation, "a key", key); !ok) return ok.error();
  if (Result<void> ok = impl_->check_may_wait_for_instance(operation); !ok) return ok.error();
  return impl_->waits->wait_for<Payload>(
      instance, timeout, operation, "given the key \"" + key + "\" a value",
      [key](Provider& provider, const InstanceId& id) { return value_of(provider, id, key); });
}

// -- send ---------------------------------------------------------------------------------------------------

Result<CancelAnswer> Client::cancel(const InstanceId& instance, std::string reason, CancelMode mode) {
  if (Result<void> ok = client::check_instance("cancel", instance); !ok) return ok.error();
  if (Result<void> ok = client::check_cancel("cancel", reason); !ok) return ok.error();
  message::CancelInstance request{
      std::move(reason), mode, CancelOrigin::client, {}, impl_->options.requested_by};
  if (cancel_resident(*impl_->store.local_hub(), instance, request)) return CancelAnswer{};
  OutboundMessage message;
  message.target = instance;
  message.body = std::move(request);
  const auto outcome = base::the_one("cancel", impl_->provider.enqueue_messages(std::span(&message, 1)));
  if (!outcome) return outcome.error();
  if (*outcome == EnqueueOutcome::not_found) return client::no_instance("cancel", instance);
  return CancelAnswer{.ended = *outcome == EnqueueOutcome::finished,
                      .repeated = *outcome == EnqueueOutcome::duplicate &&
                                  !detail::mutant("a_repeated_cancel_looks_like_the_first")};
}

Result<EnqueueOutcome> Client::send(const InstanceId& instance, MessageBody item,
                                    std::optional<std::string> message_id) {
  std::visit(
      [this](auto& body) {
        if constexpr (requires { body.requested_by; }) {
          if (!body.requested_by) body.requested_by = impl_->options.requested_by;
        }
      },
      item);
  OutboundMessage message;
  message.target = instance;
  message.body = std::move(item);
  message.message_id = std::move(message_id);
  if (Result<void> ok = client::check_message(message, impl_->options.max_payload_bytes); !ok)
    return ok.error();
  return base::the_one("enqueue_messages", impl_->provider.enqueue_messages(std::span(&message, 1)));
}

}  // namespace duramen::inline v0
