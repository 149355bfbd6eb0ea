// The clients of a simulation: they never crash, and repeat a call until they get an answer.
#include "testing/simulation/world.hpp"

namespace duramen::inline v0::testing {

namespace {
constexpr Duration retry_pause{100};
}  // namespace

void Simulation::World::add_start(StartRequest request, Duration after) {
  const std::size_t index = starts_.size();
  starts_.push_back(Start{std::move(request)});
  ++unsettled_;
  client_.loop().post_at(clock_.lease_now() + after, [this, index] { try_start(index); });
}

void Simulation::World::try_start(std::size_t index) {
  const Start& start = starts_[index];
  if (start.settled) return;
  SimulatedNode* node = random_.coin() ? random_node() : nullptr;
  if (node == nullptr) {
    auto outcome = client_store_.start_instances(std::span(&start.request, 1));
    return start_settled(
        index, outcome ? Result<StartOutcome>{outcome->front()} : Result<StartOutcome>{outcome.error()});
  }
  node->runtime->start(start.request, [this, index, node](const Result<StartOutcome>& outcome) {
    if (!node->env.dead()) start_settled(index, outcome);  // a dead node returns nothing
  });
  // The node may die before it answers.
  client_.loop().post_at(clock_.lease_now() + 2 * options_.runtime.turn_lease,
                         [this, index] { try_start(index); });
}

void Simulation::World::start_settled(std::size_t index, const Result<StartOutcome>& outcome) {
  Start& start = starts_[index];
  if (start.settled) return;
  if (!outcome) {
    client_.loop().post_at(clock_.lease_now() + retry_pause, [this, index] { try_start(index); });
    return;
  }
  start.settled = true;
  start.acknowledged = *outcome != StartOutcome::conflict;
  --unsettled_;
  note("client", "started", start.request.instance.value);
}

void Simulation::World::add_cancel(OutboundMessage message, Duration after) {
  ++unsettled_;
  client_.loop().post_at(clock_.lease_now() + after,
                         [this, message = std::move(message)] { try_cancel(message); });
}

void Simulation::World::try_cancel(const OutboundMessage& message) {
  if (SimulatedNode* node = random_.coin() ? random_node() : nullptr) {
    auto request = std::make_shared<detail::LocalCancel>();
    request->instance = message.target;
    request->message = std::get<message::CancelInstance>(message.body);
    auto settled = std::make_shared<bool>(false);
    request->done = [this, message, node, settled](bool stored) {
      if (node->env.dead() || std::exchange(*settled, true)) return;
      stored ? cancel_settled(message) : ask_store_to_cancel(message);
    };
    node->runtime->cancel(request);
    // The node may die before it answers.
    client_.loop().post_at(clock_.lease_now() + 2 * options_.runtime.turn_lease, [this, message, settled] {
      if (!std::exchange(*settled, true)) ask_store_to_cancel(message);
    });
    return;
  }
  ask_store_to_cancel(message);
}

void Simulation::World::cancel_settled(const OutboundMessage& message) {
  --unsettled_;
  note("client", "cancelled", message.target.value);
}

void Simulation::World::ask_store_to_cancel(const OutboundMessage& message) {
  auto outcome = client_store_.enqueue_messages(std::span(&message, 1));
  bool again = !outcome;
  if (outcome && outcome->front() == EnqueueOutcome::not_found) {
    for (const Start& start : starts_) again |= start.request.instance == message.target;
  }
  if (again) {
    client_.loop().post_at(clock_.lease_now() + retry_pause, [this, message] { try_cancel(message); });
    return;
  }
  cancel_settled(message);
}

void Simulation::World::add_message(OutboundMessage message, Duration after) {
  ++unsettled_;
  // The same id for every try: the store accepts it once.
  message.message_id = "message-" + std::to_string(++messages_made_);
  client_.loop().post_at(clock_.lease_now() + after, [this, message = std::move(message)] {
    std::deque<OutboundMessage>& outbox = outboxes_[message.target];
    outbox.push_back(message);
    if (outbox.size() == 1) try_send(message.target);
  });
}

void Simulation::World::try_send(const InstanceId& target) {
  std::deque<OutboundMessage>& outbox = outboxes_[target];
  if (!client_store_.enqueue_messages(std::span(&outbox.front(), 1))) {
    client_.loop().post_at(clock_.lease_now() + retry_pause, [this, target] { try_send(target); });
    return;
  }
  note("client", "sent", outbox.front().message_id.value());
  outbox.pop_front();
  --unsettled_;
  if (!outbox.empty()) client_.loop().post([this, target] { try_send(target); });
}

/// Records every end of the instance that this node announces, not only the first.
void Simulation::World::listen(SimulatedNode& node, const InstanceId& instance) {
  std::ignore =
      node.store->local_hub()->await_end(instance, [this, &node, instance](const detail::EndedInstance& end) {
        if (node.env.dead()) return;
        announced_[instance].push_back(end);
        listen(node, instance);
      });
}

}  // namespace duramen::inline v0::testing
