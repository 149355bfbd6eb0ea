// Several instances in memory, and the messages between them.
//
// Every execution is an Instance and so runs in every way. Messages of a turn are delivered until none is
// left, as a store would: a start of an id that is taken is refused, and a message to an unknown or ended
// instance is dropped. Timers fire when a test fires them.
#pragma once

#include "core/harness.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace duramen::core_test {

class World {
 public:
  template <class F>
  World& add(std::string_view name, F code, const OrchestrationOptions& options = {}) {
    registry_.add(name, std::move(code), options);
    return *this;
  }

  // Each of these goes on until nothing is on its way.
  void start(const InstanceId& id, std::string orchestration, std::string input = "");
  void post(const InstanceId& id, MessageBody item);
  /// Lets something happen to an instance: `act("root", [](Instance& i) { i.complete("A"); })`.
  void act(const InstanceId& id, const std::function<void(Instance&)>& what);
  void cancel(const InstanceId& id, std::string reason = "enough") {
    post(id, message::CancelInstance{std::move(reason)});
  }

  [[nodiscard]] bool exists(const InstanceId& id) const { return instances_.contains(id); }
  /// Its last execution.
  [[nodiscard]] Instance& at(const InstanceId& id) { return *instances_.at(id).executions.back(); }
  [[nodiscard]] Instance& execution(const InstanceId& id, std::size_t number) {
    return *instances_.at(id).executions.at(number - 1);
  }
  [[nodiscard]] std::size_t executions(const InstanceId& id) const {
    return instances_.at(id).executions.size();
  }
  [[nodiscard]] const KeyValues& key_values(const InstanceId& id) const {
    return instances_.at(id).key_values;
  }
  [[nodiscard]] std::vector<std::string> ids() const;

 private:
  struct Entry {
    Incarnation incarnation;
    std::vector<std::unique_ptr<Instance>> executions;
    KeyValues key_values;
  };
  struct Delivery {
    InstanceId from;
    OutboundMessage message;
    std::vector<MessageBody> behind = {};  // in the queue of a next execution
  };
  void settle();
  void hand_over(const Delivery& letter);
  void begin(const InstanceId& id, Entry& entry, const std::string& orchestration,
             const std::optional<std::string>& version);
  void collect(const InstanceId& id);

  Registry registry_;
  std::map<InstanceId, Entry> instances_;
  std::deque<Delivery> letters_;
  std::uint64_t incarnations_ = 0;
};

}  // namespace duramen::core_test
