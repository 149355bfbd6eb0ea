// Events and queue messages that reached an execution, and the waits for them.
//
// Two separate sets of names: external events and queues. In each, arrivals of a name are kept in order and
// given to the waits of that name in the order in which those were recorded, whichever came first. A dropped
// wait takes nothing.
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

  /// The wait that gets it, if one is open; else it is kept.
  [[nodiscard]] std::optional<EventId> arrive(Kind kind, const std::string& name, const Payload& data);
  /// The oldest kept arrival, taken; else the wait is remembered.
  [[nodiscard]] std::optional<Payload> wait(Kind kind, const std::string& name, EventId wait);
  void drop(EventId wait);

  /// Everything nobody has taken, in order of arrival.
  [[nodiscard]] std::vector<CarriedEvent> unclaimed() const;

 private:
  struct Arrival {
    std::uint64_t order;
    Payload data;
  };
  struct Box {
    std::deque<Arrival> arrivals;
    std::set<EventId>
        waits;  // ordered as they were recorded, and quick to drop from: a select may drop thousands
  };
  using Name = std::pair<Kind, std::string>;
  std::map<Name, Box> boxes_;  // a map: a Box stays where it is
  std::unordered_map<EventId, Box*> waiting_;
  std::uint64_t arrived_ = 0;
};

}  // namespace duramen::inline v0::core
