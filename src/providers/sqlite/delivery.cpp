#include "providers/sqlite/delivery.hpp"

#include "providers/common/start_digest.hpp"

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
  const NewInstance instance{.id = request.instance, .start = request.start};
  auto key = instances_.insert(time, numbers_, instance);
  if (!key) {
    const auto taken = instances_.find(request.instance);
    if (const auto refused = refusal(*taken, request)) return *refused;
    erase_instance(time, taken->key, notices);
    key = instances_.insert(time, numbers_, instance);
  }
  queue_.insert(time, *key, request.instance, request.start, {}, notices);
  // Parked messages follow the start.
  parked_.move_to(time, request.instance, *key, queue_, notices);
  notices.instances.push_back({request.instance, Status::pending});
  return StartOutcome::created;
}

EnqueueOutcome Delivery::deliver(const TransactionTime& time, const OutboundMessage& message,
                                 providers::Notices& notices) {
  if (const auto* start = std::get_if<message::StartOrchestration>(&message.body)) {
    return deliver_start(time, message, *start, notices);
  }
  const auto target = instances_.find(message.target);
  if (!target) {
    if (!may_wait_for_its_instance(message.body)) return EnqueueOutcome::not_found;
    return parked_.park(time, message) ? EnqueueOutcome::parked : EnqueueOutcome::duplicate;
  }
  if (!is_for(message.body, target->key)) return EnqueueOutcome::not_found;
  if (is_final(target->status)) {
    const bool repeat = message.message_id && queue_.has_received(target->key, *message.message_id);
    return repeat ? EnqueueOutcome::duplicate : EnqueueOutcome::finished;
  }
  if (message.message_id && !queue_.receive(target->key, *message.message_id))
    return EnqueueOutcome::duplicate;
  queue_.insert(time, target->key, message.target, message.body, message.visible_at, notices);
  return EnqueueOutcome::enqueued;
}

EnqueueOutcome Delivery::deliver_start(const TransactionTime& time, const OutboundMessage& message,
                                       const message::StartOrchestration& start,
                                       providers::Notices& notices) {
  std::optional<std::int64_t> not_before;
  if (to_unix_ms(message.visible_at) > time.now) not_before = to_unix_ms(message.visible_at);
  const auto key = instances_.insert(
      time, numbers_, NewInstance{.id = message.target, .start = start, .not_before = not_before});
  if (!key) return EnqueueOutcome::duplicate;
  queue_.insert(time, *key, message.target, message.body, {}, notices);
  parked_.move_to(time, message.target, *key, queue_, notices);
  return EnqueueOutcome::enqueued;
}

AckResult Delivery::acknowledge(const TransactionTime& time, const ActivityAck& ack,
                                providers::Notices& notices) {
  if (!workers_.finish(time, ack.lease)) return refusal(time, ack.lease);
  enqueue_completion(time, ack, notices);
  return {};
}

void Delivery::enqueue_completion(const TransactionTime& time, const ActivityAck& ack,
                                  providers::Notices& notices) {
  if (!ack.completion) return;
  const ActivityKey& key = ack.lease.key;
  const auto target = instances_.find(key.incarnation);
  if (!target || is_final(target->status)) return;
  MessageBody item;
  if (const auto* result = std::get_if<Payload>(&*ack.completion)) {
    item = message::ActivityCompleted{key.execution, key.activity, *result};
  } else {
    item = message::ActivityFailed{key.execution, key.activity, std::get<Failure>(*ack.completion)};
  }
  queue_.insert(time, key.incarnation, ack.instance, item, {}, notices);
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
