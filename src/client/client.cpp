#include <duramen/client.hpp>

#include "base/neighbourhood.hpp"
#include "client/waits.hpp"

namespace duramen::inline v0 {

namespace {

constexpr std::size_t max_name_bytes = 1024;

Error not_found(const char* operation, const InstanceId& instance) {
  return Error{ErrorCode::not_found, operation, "there is no instance \"" + instance.value + "\"", false};
}

Result<void> check(const StartRequest& request) {
  if (request.instance.empty()) {
    return Error{ErrorCode::invalid_argument, "start", "an instance needs an id", false};
  }
  if (request.start.orchestration.empty()) {
    return Error{ErrorCode::invalid_argument, "start", "name the orchestration to start", false};
  }
  for (const std::string& name : {request.instance.value, request.start.orchestration}) {
    if (Result<void> ok = check_payload(Payload::text(name), max_name_bytes); !ok) return ok;
  }
  return check_payload(request.start.input, default_payload_limit);
}

Result<StartOutcome> settled(Result<StartOutcome> outcome, const InstanceId& instance) {
  if (outcome && *outcome == StartOutcome::conflict) {
    return Error{ErrorCode::already_exists, "start",
                 "the id \"" + instance.value + "\" belongs to an instance that was started with another name or input",
                 false};
  }
  return outcome;
}

}  // namespace

class Client::Impl {
 public:
  explicit Impl(Store s)
      : store(std::move(s)), provider(*store.provider()), waits(std::make_shared<client::Waits>(store)) {}
  Store store;
  Provider& provider;
  std::shared_ptr<client::Waits> waits;
};

Client::Client(Store store) : impl_(std::make_unique<Impl>(std::move(store))) {}
Client::~Client() { impl_->waits->close(); }

// -- start -----------------------------------------------------------------------------------------------------------

Result<StartOutcome> Client::start_payload(InstanceId instance, std::string_view orchestration, Payload input,
                                           StartOptions options) {
  StartRequest request;
  request.instance = std::move(instance);
  request.start.orchestration = orchestration;
  request.start.input = std::move(input);
  request.start.version = std::move(options.version);
  request.reuse = options.reuse;
  client::Once<Result<StartOutcome>> answer;
  start_async(std::move(request), answer.setter());
  return answer.wait();
}

void Client::start_async(StartRequest request, StartDone done) {
  if (Result<void> ok = check(request); !ok) return done(ok.error());
  const InstanceId instance = request.instance;
  StartDone settle = [instance, done = std::move(done)](Result<StartOutcome> outcome) mutable {
    done(settled(std::move(outcome), instance));
  };
  if (impl_->store.neighbourhood()->offer(request, settle)) return;
  impl_->waits->run_in_background([this, request = std::move(request), settle = std::move(settle)]() mutable {
    auto outcome = impl_->provider.start_instances(std::span(&request, 1));
    settle(outcome ? Result<StartOutcome>{outcome->front()} : Result<StartOutcome>{outcome.error()});
  });
}

// -- wait ------------------------------------------------------------------------------------------------------------

Result<InstanceState> Client::wait(const InstanceId& instance, Duration timeout) {
  return impl_->waits->wait(instance, timeout);
}

void Client::wait_async(const InstanceId& instance, WaitDone done) {
  impl_->waits->add(instance, std::move(done), true);
}

void Client::run_async(StartRequest request, WaitDone done) {
  const InstanceId instance = request.instance;
  // Waiting first: the end cannot be missed, and needs no look at the store.
  auto wait = impl_->waits->add(instance, std::move(done), false);
  start_async(std::move(request), [waits = impl_->waits, wait](Result<StartOutcome> outcome) {
    if (!outcome) return waits->fail(wait, outcome.error());
    waits->started(wait, *outcome == StartOutcome::exists);
  });
}

// -- cancel, look ----------------------------------------------------------------------------------------------------

Result<bool> Client::cancel(const InstanceId& instance, std::string reason, CancelMode mode) {
  OutboundMessage message;
  message.target = instance;
  message.item = work::CancelInstance{std::move(reason), mode, CancelOrigin::client, {}};
  auto outcome = impl_->provider.enqueue_for_orchestrator(std::span(&message, 1));
  if (!outcome) return outcome.error();
  if (outcome->front() == EnqueueOutcome::not_found) return not_found("cancel", instance);
  return outcome->front() != EnqueueOutcome::finished;
}

Result<EnqueueOutcome> Client::send(const InstanceId& instance, WorkItem item, std::optional<std::string> message_id) {
  const Payload* data = nullptr;
  if (const auto* event = std::get_if<work::ExternalRaised>(&item)) data = &event->data;
  if (const auto* message = std::get_if<work::QueueMessage>(&item)) data = &message->data;
  if (Result<void> ok = check_payload(*data, default_payload_limit); !ok) return ok.error();
  OutboundMessage message;
  message.target = instance;
  message.item = std::move(item);
  message.message_id = std::move(message_id);
  auto outcome = impl_->provider.enqueue_for_orchestrator(std::span(&message, 1));
  if (!outcome) return outcome.error();
  return outcome->front();
}

Result<KeyValues> Client::get_key_values(const InstanceId& instance) {
  return impl_->provider.get_key_values(instance);
}

Result<InstanceInfo> Client::get_instance(const InstanceId& instance) {
  auto info = impl_->provider.get_instance(instance);
  if (!info) return info.error();
  if (!*info) return not_found("get_instance", instance);
  return std::move(**info);
}

Result<std::vector<Event>> Client::read_history(const InstanceId& instance) {
  auto info = get_instance(instance);
  if (!info) return info.error();
  return impl_->provider.read_history(instance, info->execution, EventId{});
}

}  // namespace duramen::v0
