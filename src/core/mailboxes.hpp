// Events and queue messages that reached an execution, and the waits for them.
//
// Two separate sets of names: external events and queues. In each, arrivals of a name are kept in order and
// delivered to the waits of that name in the order these were recorded, whichever came first. A dropped wait
// receives nothing.
#pragma once

#include <duramen/history.hpp>
#include <duramen/ids.hpp>
#include <duramen/payload.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace duramen::inline v0::core {

class Mailboxes {
 public:
  using Kind = CarriedEvent::Kind;

  /// The wait that receives it, if one is open; otherwise the arrival is kept, and `mail` is moved from.
  [[nodiscard]] std::optional<EventId> arrive(CarriedEvent& mail);
  /// Takes the oldest kept arrival; if there is none, registers the wait.
  [[nodiscard]] std::optional<Payload> wait(Kind kind, const std::string& name, EventId wait);
  void drop(EventId wait);
  /// True if a wait would be answered at once.
  [[nodiscard]] bool has_arrival(Kind kind, const std::string& name) const;

  /// Removes all undelivered arrivals and returns them in order.
  [[nodiscard]] std::vector<CarriedEvent> take_unclaimed();

 private:
  struct Arrival {
    std::uint64_t order;
    Payload data;
    std::optional<std::string> requested_by;
  };
  struct Box {
    std::deque<Arrival> arrivals;
    // In recorded order, and quick to erase from: a select may drop thousands.
    std::set<EventId> waits;
  };
  using Name = std::pair<Kind, std::string>;
  std::map<Name, Box> boxes_;  // a map keeps each Box in place
  std::unordered_map<EventId, Box*> waiting_;
  std::uint64_t arrived_ = 0;
};

}  // namespace duramen::inline v0::core
