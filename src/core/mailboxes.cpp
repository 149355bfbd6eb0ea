#include "core/mailboxes.hpp"

#include <algorithm>
#include <utility>

namespace duramen::inline v0::core {

std::optional<EventId> Mailboxes::arrive(CarriedEvent& mail) {
  Box& box = boxes_[{mail.kind, std::move(mail.name)}];
  if (box.waits.empty()) {
    box.arrivals.push_back({++arrived_, std::move(mail.data), std::move(mail.requested_by)});
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

std::vector<CarriedEvent> Mailboxes::take_unclaimed() {
  // Sorted in place and moved: there may be very much.
  std::vector<std::pair<Arrival*, const Name*>> ordered;
  for (auto& [name, box] : boxes_) {
    for (Arrival& arrival : box.arrivals) ordered.emplace_back(&arrival, &name);
  }
  std::ranges::sort(ordered, {}, [](const auto& arrival) { return arrival.first->order; });
  std::vector<CarriedEvent> events;
  events.reserve(ordered.size());
  for (const auto& [arrival, name] : ordered) {
    events.push_back(
        CarriedEvent{name->first, name->second, std::move(arrival->data), std::move(arrival->requested_by)});
  }
  for (auto& [name, box] : boxes_) box.arrivals.clear();
  return events;
}

}  // namespace duramen::inline v0::core
