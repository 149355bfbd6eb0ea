// Events and queue messages, followed through a history in the plainest way: which wait received what, and
// what is left.
#pragma once

#include <duramen/history.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace duramen::core_test::property {

class MailModel {
 public:
  using Kind = CarriedEvent::Kind;

  void see(const Event& event) {
    if (const auto* started = std::get_if<event::OrchestrationStarted>(&event.body)) {
      for (const CarriedEvent& carried : started->carry_forward) arrive(carried);
    } else if (const auto* raised = std::get_if<event::ExternalEvent>(&event.body)) {
      arrive({Kind::external, raised->name, raised->data, raised->requested_by});
    } else if (const auto* queued = std::get_if<event::QueueEventDelivered>(&event.body)) {
      arrive({Kind::queue, queued->name, queued->data, queued->requested_by});
    } else if (const auto* wait = std::get_if<event::ExternalSubscribed>(&event.body)) {
      open({Kind::external, wait->name, event.id});
    } else if (const auto* dequeue = std::get_if<event::QueueSubscribed>(&event.body)) {
      open({Kind::queue, dequeue->name, event.id});
    } else if (event_class(event) == EventClass::cancel) {
      std::erase_if(waits_, [&](const Wait& w) { return w.id == event.source; });
    }
  }
  [[nodiscard]] bool nobody_waits() const { return waits_.empty(); }
  [[nodiscard]] const std::vector<CarriedEvent>& unclaimed() const { return kept_; }

 private:
  struct Wait {
    Kind kind;
    std::string name;
    EventId id;
  };
  void arrive(const CarriedEvent& mail) {
    const auto wait = std::find_if(waits_.begin(), waits_.end(),
                                   [&](const Wait& w) { return w.kind == mail.kind && w.name == mail.name; });
    if (wait == waits_.end()) {
      kept_.push_back(mail);
    } else {
      waits_.erase(wait);
    }
  }
  void open(Wait wait) {
    const auto mail = std::find_if(kept_.begin(), kept_.end(), [&](const CarriedEvent& m) {
      return m.kind == wait.kind && m.name == wait.name;
    });
    if (mail == kept_.end()) {
      waits_.push_back(std::move(wait));
    } else {
      kept_.erase(mail);
    }
  }
  std::vector<Wait> waits_;
  std::vector<CarriedEvent> kept_;
};

}  // namespace duramen::core_test::property
