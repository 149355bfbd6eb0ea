#include "providers/postgres/message_columns.hpp"

#include "providers/common/start_digest.hpp"

#include <utility>
#include <variant>

namespace duramen::inline v0::postgres::detail {

void ParentColumns::add(const std::optional<ParentLink>& parent) {
  if (!parent) {
    instance.add(std::nullopt);
    key.add(std::optional<std::uint64_t>{});
    execution.add(std::optional<std::uint64_t>{});
    event.add(std::optional<std::uint64_t>{});
    return;
  }
  instance.add(parent->instance.value);
  key.add(parent->incarnation.value);
  execution.add(parent->execution.value);
  event.add(parent->event.value);
}

void ParentColumns::take_into(Parameters& parameters) {
  parameters.add(std::move(instance)).add(std::move(key)).add(std::move(execution)).add(std::move(event));
}

int cancel_strength(const std::optional<CancelMode>& mode) {
  if (!mode) return 0;
  return *mode == CancelMode::terminate ? 2 : 1;
}

void MessageColumns::add(const OutboundMessage& message) {
  const MessageBody& work = message.body;
  const auto* starts = std::get_if<message::StartOrchestration>(&work);
  const auto* cancels = std::get_if<message::CancelInstance>(&work);
  const auto* fires = std::get_if<message::TimerFired>(&work);
  const bool waits = std::holds_alternative<message::ExternalRaised>(work) ||
                     std::holds_alternative<message::QueueMessage>(work);
  kind.add(starts != nullptr    ? start
           : cancels != nullptr ? cancel
           : fires != nullptr   ? timer
           : waits              ? may_wait
                                : to_existing);
  target.add(message.target.value);
  item.add(to_json(work, message.target));
  at.add(to_unix_ms(fires != nullptr ? fires->fire_at : message.visible_at));
  id.add(message.message_id);
  Incarnation answers;
  if (const auto* done = std::get_if<message::SubOrchestrationCompleted>(&work))
    answers = done->parent.incarnation;
  if (const auto* failed = std::get_if<message::SubOrchestrationFailed>(&work))
    answers = failed->parent.incarnation;
  const bool is_answer = std::holds_alternative<message::SubOrchestrationCompleted>(work) ||
                         std::holds_alternative<message::SubOrchestrationFailed>(work);
  for_key.add(is_answer && !answers ? std::int64_t{-1} : static_cast<std::int64_t>(answers.value));
  name.add(starts != nullptr ? std::string_view(starts->orchestration) : std::string_view());
  version.add(starts != nullptr ? starts->version : std::nullopt);
  digest.add(starts != nullptr ? providers::start_digest(*starts) : std::int64_t{0});
  mode.add(cancels != nullptr ? cancel_strength(cancels->mode) : 0);
  if (fires != nullptr) {
    parent.add(
        ParentLink{.instance = {}, .incarnation = {}, .execution = fires->execution, .event = fires->id});
  } else {
    parent.add(starts != nullptr ? starts->parent : cancels != nullptr ? cancels->parent : std::nullopt);
  }
}

void MessageColumns::take_into(Parameters& parameters) {
  parameters.add(std::move(kind))
      .add(std::move(target))
      .add(std::move(item))
      .add(std::move(at))
      .add(std::move(id))
      .add(std::move(for_key))
      .add(std::move(name))
      .add(std::move(version))
      .add(std::move(digest))
      .add(std::move(mode));
  parent.take_into(parameters);
}

}  // namespace duramen::inline v0::postgres::detail
