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

/// A child's answer names the instance that asked, not one of the same name that came after it.
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

StartOutcome Delivery::start(const TransactionTime& moment, const StartRequest& request,
                             providers::Notices& notices) {
  const NewInstance instance{.id = request.instance, .start = request.start};
  auto key = instances_.insert(moment, numbers_, instance);
  if (!key) {
    const auto taken = instances_.find(request.instance);
    if (const auto refused = refusal(*taken, request)) return *refused;
    erase_instance(moment, taken->key, notices);
    key = instances_.insert(moment, numbers_, instance);
  }
  queue_.insert(moment, *key, request.instance, request.start, {}, notices);
  // What was parked comes after the start.
  parked_.move_to(moment, request.instance, *key, queue_, notices);
  notices.instances.push_back({request.instance, Status::pending});
  return StartOutcome::created;
}

EnqueueOutcome Delivery::deliver(const TransactionTime& moment, const OutboundMessage& message,
                                 providers::Notices& notices) {
  if (const auto* start = std::get_if<message::StartOrchestration>(&message.body)) {
    return deliver_start(moment, message, *start, notices);
  }
  const auto target = instances_.find(message.target);
  if (!target) {
    if (!may_wait_for_its_instance(message.body)) return EnqueueOutcome::not_found;
    return parked_.park(moment, message) ? EnqueueOutcome::parked : EnqueueOutcome::duplicate;
  }
  if (!is_for(message.body, target->key)) return EnqueueOutcome::not_found;
  if (is_final(target->status)) {
    const bool repeat = message.message_id && queue_.has_received(target->key, *message.message_id);
    return repeat ? EnqueueOutcome::duplicate : EnqueueOutcome::finished;
  }
  if (message.message_id && !queue_.receive(target->key, *message.message_id))
    return EnqueueOutcome::duplicate;
  queue_.insert(moment, target->key, message.target, message.body, message.visible_at, notices);
  return EnqueueOutcome::enqueued;
}

EnqueueOutcome Delivery::deliver_start(const TransactionTime& moment, const OutboundMessage& message,
                                       const message::StartOrchestration& start,
                                       providers::Notices& notices) {
  std::optional<std::int64_t> not_before;
  if (to_unix_ms(message.visible_at) > moment.now) not_before = to_unix_ms(message.visible_at);
  const auto key = instances_.insert(
      moment, numbers_, NewInstance{.id = message.target, .start = start, .not_before = not_before});
  if (!key) return EnqueueOutcome::duplicate;
  queue_.insert(moment, *key, message.target, message.body, {}, notices);
  parked_.move_to(moment, message.target, *key, queue_, notices);
  return EnqueueOutcome::enqueued;
}

AckResult Delivery::acknowledge(const TransactionTime& moment, const ActivityAck& ack,
                                providers::Notices& notices) {
  if (!workers_.finish(moment, ack.lease)) return refusal(moment, ack.lease);
  enqueue_completion(moment, ack, notices);
  return {};
}

void Delivery::enqueue_completion(const TransactionTime& moment, const ActivityAck& ack,
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
  queue_.insert(moment, key.incarnation, ack.instance, item, {}, notices);
}

AckResult Delivery::refusal(const TransactionTime& moment, const ActivityLease& lease) {
  if (const auto reason = workers_.stolen_leases().reason(moment, lease))
    return {AckOutcome::cancelled, *reason};
  return {AckOutcome::lease_lost, {}};
}

void Delivery::erase_instance(const TransactionTime& moment, Incarnation key, providers::Notices& notices) {
  workers_.cancel_instance(moment, key, CancelReason::instance_deleted, notices.stolen);
  queue_.erase_all(key);
  queue_.erase_received(key);
  key_values_.erase(key);
  instances_.erase(key);
}

}  // namespace duramen::inline v0::sqlite::detail
