#include "core/mailboxes.hpp"

#include <algorithm>
#include <utility>

namespace duramen::inline v0::core {

std::optional<EventId> Mailboxes::arrive(Kind kind, const std::string& name, const Payload& data) {
  Box& box = boxes_[{kind, name}];
  if (box.waits.empty()) {
    box.arrivals.push_back({++arrived_, data});
    return std::nullopt;
  }
  const EventId wait = *box.waits.begin();
  box.waits.erase(box.waits.begin());
  waiting_.erase(wait);
  return wait;
}

std::optional<Payload> Mailboxes::wait(Kind kind, const std::string& name, EventId wait) {
  Box& box = boxes_[{kind, name}];
  if (box.arrivals.empty()) {
    box.waits.insert(box.waits.end(), wait);
    waiting_.emplace(wait, &box);
    return std::nullopt;
  }
  Payload data = std::move(box.arrivals.front().data);
  box.arrivals.pop_front();
  return data;
}

void Mailboxes::drop(EventId wait) {
  const auto found = waiting_.find(wait);
  if (found == waiting_.end()) return;
  found->second->waits.erase(wait);
  waiting_.erase(found);
}

bool Mailboxes::has_arrival(Kind kind, const std::string& name) const {
  const auto found = boxes_.find({kind, name});
  return found != boxes_.end() && !found->second.arrivals.empty();
}

std::vector<CarriedEvent> Mailboxes::unclaimed() const {
  // Sorted in place and copied once: there may be very many.
  std::vector<std::pair<const Arrival*, const Name*>> ordered;
  for (const auto& [name, box] : boxes_) {
    for (const Arrival& arrival : box.arrivals) ordered.emplace_back(&arrival, &name);
  }
  std::ranges::sort(ordered, {}, [](const auto& arrival) { return arrival.first->order; });
  std::vector<CarriedEvent> events;
  events.reserve(ordered.size());
  for (const auto& [arrival, name] : ordered) {
    events.push_back(CarriedEvent{name->first, name->second, arrival->data});
  }
  return events;
}

}  // namespace duramen::inline v0::core
