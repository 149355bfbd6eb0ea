#include "providers/sqlite/delivery.hpp"

#include "providers/common/retry_details.hpp"
#include "providers/common/start_digest.hpp"
#include <duramen/detail/mutant.hpp>

#include <utility>
#include <variant>

namespace duramen::inline v0::sqlite::detail {

namespace {

bool may_wait_for_its_instance(const MessageBody& item) {
  return std::holds_alternative<message::ExternalRaised>(item) ||
         std::holds_alternative<message::QueueMessage>(item);
}

/// A child's answer names the incarnation of its parent: a later instance with the same id must not get it.
bool is_for(const MessageBody& item, Incarnation key) {
  if (const auto* done = std::get_if<message::SubOrchestrationCompleted>(&item))
    return done->parent.incarnation == key;
  if (const auto* failed = std::get_if<message::SubOrchestrationFailed>(&item))
    return failed->parent.incarnation == key;
  return true;
}

}  // namespace

std::optional<StartOutcome> Delivery::refusal(const InstanceRow& taken, const StartRequest& request) {
  if (request.reuse == IdReuse::replace_when_final && is_final(taken.status)) return std::nullopt;
  const bool repeat = taken.start_digest == providers::start_digest(request.start);
  return repeat ? StartOutcome::exists : StartOutcome::conflict;
}

StartOutcome Delivery::start(const TransactionTime& time, const StartRequest& request,
                             providers::Notices& notices) {
  const NewInstance instance{
      .id = request.instance, .start = request.start, .asked_version = request.start.version};
  auto row = instances_.insert(time, numbers_, instance);
  if (!row) {
    const auto taken = instances_.find(request.instance);
    if (const auto refused = refusal(*taken, request)) return *refused;
    erase_instance(time, taken->key, notices);
    row = instances_.insert(time, numbers_, instance);
  }
  queue_.insert_start(time, *row, to_json(request.start, request.instance), std::nullopt, notices);
  // Parked messages follow the start.
  parked_.move_to(time, request.instance, *row, queue_, notices);
  notices.instances.push_back({request.instance, Status::pending});
  return StartOutcome::created;
}

bool Delivery::deliver_start(const TransactionTime& time, const OutboundMessage& message,
                             const message::StartOrchestration& start,
                             const std::optional<message::CancelInstance>& cancel,
                             providers::Notices& notices) {
  NewInstance instance{.id = message.target, .start = start, .asked_version = start.version};
  if (cancel) {
    instance.cancel_asked = cancel->mode;
    instance.cancel_place = OrchestratorQueue::start_place + 1;
  }
  const auto row = instances_.insert(time, numbers_, instance);
  if (!row) return false;
  queue_.insert_start(time, *row, to_json(message.body, message.target), to_unix_ms(message.visible_at),
                      notices);
  if (cancel) enqueue(time, *row, message.target, *cancel, notices);
  parked_.move_to(time, message.target, *row, queue_, notices);
  return true;
}

EnqueueOutcome Delivery::deliver(const TransactionTime& time, const OutboundMessage& message,
                                 providers::Notices& notices) {
  if (const auto* start = std::get_if<message::StartOrchestration>(&message.body)) {
    const bool started = deliver_start(time, message, *start, std::nullopt, notices);
    return started ? EnqueueOutcome::enqueued : EnqueueOutcome::duplicate;
  }
  auto target = instances_.find(message.target);
  if (!target) {
    if (!may_wait_for_its_instance(message.body)) return EnqueueOutcome::not_found;
    return parked_.park(time, message) ? EnqueueOutcome::parked : EnqueueOutcome::duplicate;
  }
  if (!is_for(message.body, target->key)) return EnqueueOutcome::not_found;
  const auto* cancel = std::get_if<message::CancelInstance>(&message.body);
  if (cancel != nullptr && cancel->parent && !is_child_of(target->key, *cancel->parent))
    return EnqueueOutcome::not_found;
  if (is_final(target->status)) {
    const bool repeat = message.message_id && queue_.has_received(target->key, *message.message_id);
    return repeat ? EnqueueOutcome::duplicate : EnqueueOutcome::finished;
  }
  if (cancel != nullptr && target->cancel_asked >= cancel->mode) return EnqueueOutcome::duplicate;
  if (message.message_id && !queue_.receive(target->key, *message.message_id))
    return EnqueueOutcome::duplicate;
  if (cancel != nullptr) {
    store_cancel(time, *target, message.target, *cancel, notices);
  } else if (const auto* timer = std::get_if<message::TimerFired>(&message.body)) {
    queue_.insert_timer(time, target->key, *timer, notices);
  } else if (std::holds_alternative<message::ContinueAsNew>(message.body)) {
    queue_.prepend(time, *target, to_json(message.body, message.target), notices);
  } else {
    enqueue(time, *target, message.target, message.body, notices);
  }
  return EnqueueOutcome::enqueued;
}

/// A later child with the same id must not be cancelled: the link names the event that started this one.
bool Delivery::is_child_of(Incarnation key, const ParentLink& link) {
  const auto parent = instances_.parent(key);
  if (!parent || parent->instance != link.instance) return false;
  if (parent->incarnation && link.incarnation && parent->incarnation != link.incarnation) return false;
  return parent->execution == link.execution && parent->event == link.event;
}

void Delivery::store_cancel(const TransactionTime& time, InstanceRow& target, const InstanceId& id,
                            const message::CancelInstance& cancel, providers::Notices& notices) {
  const std::int64_t place = enqueue(time, target, id, cancel, notices);
  instances_.ask_cancel(target.key, cancel.mode, place);
  target.cancel_asked = cancel.mode;
  target.cancel_place = place;
  // Perhaps every node can decide the instance now.
  if (!duramen::detail::mutant("a_cancel_waits_for_the_code")) queue_.update_capability(target);
  if (cancel.parent && target.needs_no_code()) notices.descending.push_back({target.key, cancel});
}

std::int64_t Delivery::enqueue(const TransactionTime& time, const InstanceRow& target, const InstanceId& id,
                               const MessageBody& item, providers::Notices& notices) {
  return queue_.append(time, target, to_json(item, id), time.now, notices);
}

AckResult Delivery::acknowledge(const TransactionTime& time, const ActivityAck& ack,
                                providers::Notices& notices) {
  std::optional<Payload> heartbeat = heartbeat_of(ack);
  if (!workers_.finish(time, ack.lease)) return refusal(time, ack.lease);
  enqueue_completion(time, ack, std::move(heartbeat), notices);
  return {};
}

std::optional<Payload> Delivery::heartbeat_of(const ActivityAck& ack) {
  const bool failed = ack.completion && std::holds_alternative<Failure>(*ack.completion);
  if (!failed || ack.heartbeat) return ack.heartbeat;
  return providers::retry_details(workers_.last_details(ack.lease.key));
}

void Delivery::enqueue_completion(const TransactionTime& time, const ActivityAck& ack,
                                  std::optional<Payload> heartbeat, providers::Notices& notices) {
  if (!ack.completion) return;
  const ActivityKey& key = ack.lease.key;
  const auto target = instances_.find(key.incarnation);
  if (!target || is_final(target->status)) return;
  MessageBody item;
  if (const auto* result = std::get_if<Payload>(&*ack.completion)) {
    item = message::ActivityCompleted{key.execution, key.activity, *result, ack.ran};
  } else {
    item = message::ActivityFailed{key.execution, key.activity, std::get<Failure>(*ack.completion), ack.ran,
                                   std::move(heartbeat)};
  }
  enqueue(time, *target, ack.instance, item, notices);
}

AckResult Delivery::refusal(const TransactionTime& time, const ActivityLease& lease) {
  if (const auto reason = workers_.stolen_leases().reason(time, lease))
    return {AckOutcome::cancelled, *reason};
  return {AckOutcome::lease_lost, {}};
}

void Delivery::erase_instance(const TransactionTime& time, Incarnation key, providers::Notices& notices) {
  workers_.cancel_instance(time, key, CancelReason::instance_deleted, notices.stolen);
  queue_.erase_all(key);
  queue_.erase_received(key);
  key_values_.erase(key);
  instances_.erase(key);
}

}  // namespace duramen::inline v0::sqlite::detail
