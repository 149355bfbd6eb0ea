#include "core/world.hpp"

namespace duramen::core_test {

void World::start(const InstanceId& id, std::string orchestration, std::string input) {
  post(id, message::StartOrchestration{std::move(orchestration), Payload::text(std::move(input)), {}, {}});
}

void World::post(const InstanceId& id, MessageBody item) {
  letters_.push_back({{}, OutboundMessage{id, std::move(item), {}, {}}});
  settle();
}

void World::act(const InstanceId& id, const std::function<void(Instance&)>& what) {
  what(at(id));
  collect(id);
  settle();
}

void World::settle() {
  while (!letters_.empty()) {
    const Delivery letter = std::move(letters_.front());
    letters_.pop_front();
    hand_over(letter);
  }
}

void World::hand_over(const Delivery& letter) {
  const auto& [target, item, visible_at, message_id, if_refused] = letter.message;
  if (const auto* start = std::get_if<message::StartOrchestration>(&item)) {
    if (exists(target)) {
      if (if_refused) letters_.push_back({{}, OutboundMessage{letter.from, *if_refused, {}, {}}});
      return;
    }
    Entry& entry = instances_[target];
    entry.incarnation = Incarnation{++incarnations_};
    begin(target, entry, start->orchestration, start->version);
  } else if (const auto* next = std::get_if<message::ContinueAsNew>(&item)) {
    begin(target, instances_.at(target), next->orchestration, next->version);
  } else if (!exists(target) || is_final(at(target).status())) {
    return;
  }
  std::vector<MessageBody> batch{item};
  batch.insert(batch.end(), letter.behind.begin(), letter.behind.end());
  at(target).deliver(std::move(batch));
  collect(target);
}

void World::begin(const InstanceId& id, Entry& entry, const std::string& orchestration,
                  const std::optional<std::string>& version) {
  core::ExecutionOptions options;
  options.key_values = entry.key_values;
  entry.executions.push_back(std::make_unique<Instance>(
      registry_.find_orchestration(orchestration, version), Mode::every_way, options,
      core::ExecutionIdentity{id, entry.incarnation, ExecutionId{entry.executions.size() + 1}}));
}

void World::collect(const InstanceId& id) {
  Entry& entry = instances_.at(id);
  Instance& instance = *entry.executions.back();
  const core::TurnOutcome& turn = instance.turn();
  for (const KeyValueChange& change : turn.key_values) {
    if (!change.key) {
      entry.key_values.clear();
    } else if (change.value) {
      entry.key_values[*change.key] = {*change.value, change.updated_at};
    } else {
      entry.key_values.erase(*change.key);
    }
  }
  for (const OutboundMessage& message : turn.messages) {
    if (std::holds_alternative<message::TimerFired>(message.body)) continue;
    letters_.push_back({id, message});
    if (!std::holds_alternative<message::ContinueAsNew>(message.body)) continue;
    std::vector<MessageBody>& behind = letters_.back().behind;
    behind = turn.put_back;
    behind.insert(behind.end(), instance.left().begin(), instance.left().end());
  }
  if (turn.ended() || instance.left().empty()) return;
  instance.deliver(instance.left());
  collect(id);
}

std::vector<std::string> World::ids() const {
  std::vector<std::string> names;
  for (const auto& [id, entry] : instances_) names.push_back(id.value);
  return names;
}

}  // namespace duramen::core_test
