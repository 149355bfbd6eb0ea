#include "client/history_scan.hpp"

#include "base/overloaded.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace duramen::inline v0::client {

namespace {

using WaitKind = Waiting::Kind;

class Reader {
 public:
  void read(const Event& event) {
    std::visit(Overloaded{
                   [&](const event::OrchestrationStarted& e) {
                     started(e);
                     if (e.cancel) cancel_asked(*e.cancel, event.timestamp);
                   },
                   [&](const event::OrchestrationCancelRequested& e) { cancel_asked(e, event.timestamp); },
                   [&](const event::ActivityScheduled& e) {
                     Waiting& wait = open(event, WaitKind::activity, e.name);
                     wait.tag = e.tag;
                     wait.session = e.session_id;
                   },
                   [&](const event::TimerCreated& e) { open(event, WaitKind::timer, {}).due = e.fire_at; },
                   [&](const event::SubOrchestrationScheduled& e) {
                     open(event, WaitKind::child, e.name).child = e.instance;
                   },
                   [&](const event::ExternalSubscribed& e) { subscribe(event, WaitKind::event, e.name); },
                   [&](const event::QueueSubscribed& e) { subscribe(event, WaitKind::queue, e.name); },
                   [&](const event::ExternalEvent& e) { arrive(WaitKind::event, e.name); },
                   [&](const event::QueueEventDelivered& e) { arrive(WaitKind::queue, e.name); },
                   [&](const event::ActivityCompleted&) { close(event.source); },
                   [&](const event::ActivityFailed&) { close(event.source); },
                   [&](const event::TimerFired&) { close(event.source); },
                   [&](const event::SubOrchestrationCompleted&) { close(event.source); },
                   [&](const event::SubOrchestrationFailed&) { close(event.source); },
                   [&](const event::ActivityCancelRequested& e) { cancel(event, e.reason); },
                   [&](const event::SubOrchestrationCancelRequested& e) { cancel(event, e.reason); },
                   [&](const event::ExternalSubscribedCancelled& e) { cancel(event, e.reason); },
                   [&](const event::QueueSubscriptionCancelled& e) { cancel(event, e.reason); },
                   [&](const event::OrchestrationCompleted&) { open_.clear(); },
                   [&](const event::OrchestrationFailed&) { open_.clear(); },
                   [&](const event::OrchestrationContinuedAsNew&) { open_.clear(); },
                   [](const auto&) {},
               },
               event.body);
  }

  HistoryScan take() {
    for (auto& [id, wait] : open_) steps_.open.push_back(std::move(wait));
    if (steps_.cancel_request && steps_.cancel_request->by == CancelOrigin::parent && steps_.parent) {
      steps_.cancel_request->parent = steps_.parent->instance;
    }
    return std::move(steps_);
  }

 private:
  /// Arrivals of one name are delivered to the waits of that name in the order these were recorded.
  struct Mailbox {
    std::size_t kept = 0;
    std::set<EventId> waits;
  };

  void cancel_asked(const event::OrchestrationCancelRequested& e, TimePoint at) {
    steps_.cancel_request = CancelRequest{e.reason, e.mode, e.origin, std::nullopt, at, e.requested_by};
  }

  void started(const event::OrchestrationStarted& e) {
    steps_.parent = e.parent;
    for (const CarriedEvent& carried : e.carry_forward) {
      ++boxes_[{carried.kind == CarriedEvent::Kind::queue ? WaitKind::queue : WaitKind::event, carried.name}]
            .kept;
    }
  }

  Waiting& open(const Event& event, WaitKind kind, const std::string& name) {
    Waiting wait;
    wait.kind = kind;
    wait.event = event.id;
    wait.name = name;
    wait.since = event.timestamp;
    return open_.insert_or_assign(event.id, std::move(wait)).first->second;
  }
  void close(EventId id) { open_.erase(id); }

  void subscribe(const Event& event, WaitKind kind, const std::string& name) {
    Mailbox& box = boxes_[{kind, name}];
    if (box.kept > 0) {
      --box.kept;
      return;
    }
    box.waits.insert(event.id);
    open(event, kind, name);
  }
  void arrive(WaitKind kind, const std::string& name) {
    Mailbox& box = boxes_[{kind, name}];
    if (box.waits.empty()) {
      ++box.kept;
      return;
    }
    close(*box.waits.begin());
    box.waits.erase(box.waits.begin());
  }

  void cancel(const Event& event, CancelReason reason) {
    const auto found = open_.find(event.source);
    if (found == open_.end()) return;
    const Waiting& wait = found->second;
    steps_.cancelled.push_back({wait.kind, wait.event, wait.name, reason, event.timestamp});
    if (wait.kind == WaitKind::event || wait.kind == WaitKind::queue)
      boxes_[{wait.kind, wait.name}].waits.erase(wait.event);
    open_.erase(found);
  }

  HistoryScan steps_;
  std::map<EventId, Waiting> open_;
  std::map<std::pair<WaitKind, std::string>, Mailbox> boxes_;
};

}  // namespace

HistoryScan read_steps(std::span<const Event> history) {
  Reader reader;
  for (const Event& event : history) reader.read(event);
  return reader.take();
}

}  // namespace duramen::inline v0::client
