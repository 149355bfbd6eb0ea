// One instance as a test sees it: code, the history committed so far, and a small visible store.
//
// Every turn runs through core::Execution the way a runtime would run it. By default it runs in three ways at
// once: on an execution kept since the last turn, on a new one that replays everything, and on one that is a
// turn behind and is fed what it missed. All three must decide the same. When a test ends, its history is cut
// at every segment end and run on from there, which must give the rest of that history again.
#pragma once

#include "core/execution.hpp"
#include "core/turn.hpp"
#include <duramen/history.hpp>
#include <duramen/message.hpp>
#include <duramen/orchestration.hpp>
#include <duramen/registry.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace duramen::core_test {

using Context = OrchestrationContext;

/// How turns are run. The single ways are for tests whose code counts how often it runs.
enum class Mode { every_way, resident, fresh };

/// The code as a runtime finds it.
template <class F>
[[nodiscard]] std::shared_ptr<const OrchestrationHandler> handler_of(
    F code, const OrchestrationOptions& options = {}) {
  Registry registry;
  registry.add("subject", std::move(code), options);
  return registry.find_orchestration("subject", {});
}

/// The same, registered as one that cleans up when it is cancelled.
template <class F>
[[nodiscard]] std::shared_ptr<const OrchestrationHandler> graceful(F code) {
  return handler_of(std::move(code), OrchestrationOptions().graceful());
}

/// A history in words, one line for each event: "A scheduled", "A cancelled: select_loser", "completed: 7".
/// Timers are called by their delay ("timer 500ms"), waits and children by what they wait for or run ("wait
/// go", "queue jobs", "child greet").
[[nodiscard]] std::vector<std::string> story_of(const std::vector<Event>& history);

/// The name of a schedule event in stories; empty for any other event.
[[nodiscard]] std::string schedule_name(const Event& event);

class Instance {
 public:
  template <class F>
  explicit Instance(F code, Mode mode = Mode::every_way, core::ExecutionOptions limits = {})
      : Instance(handler_of(std::move(code)), mode, limits) {}
  explicit Instance(std::shared_ptr<const OrchestrationHandler> handler, Mode mode = Mode::every_way,
                    core::ExecutionOptions limits = {},
                    core::ExecutionIdentity identity = {"instance", Incarnation{1}, ExecutionId{1}});
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  // -- what happens to it. Each call is one turn. -----------------------------------------------------------

  const core::TurnOutcome& start() { return deliver({started()}); }
  template <class In>
  const core::TurnOutcome& start(const In& input) {
    return deliver({started(encode_payload(input))});
  }
  /// Activities are called by name: the one scheduled last under it. The number names the schedule event
  /// directly.
  template <class R>
  const core::TurnOutcome& complete(std::string_view activity, const R& result) {
    return deliver({completion(activity, result)});
  }
  const core::TurnOutcome& complete(std::string_view activity) { return deliver({completion(activity)}); }
  const core::TurnOutcome& complete(EventId event, Payload result = Payload::none());
  const core::TurnOutcome& fail(std::string_view activity, std::string message = "it failed");
  const core::TurnOutcome& fail(EventId event, Failure failure);
  /// The clock moves on to the timer's due time first. Timers are called by their delay: "500ms".
  const core::TurnOutcome& fire(std::string_view delay);
  const core::TurnOutcome& fire(EventId timer);
  const core::TurnOutcome& cancel(std::string reason = "enough", CancelMode mode = CancelMode::graceful) {
    return deliver({cancelling(std::move(reason), mode)});
  }
  const core::TurnOutcome& raise(std::string name, std::string data) {
    return deliver({raising(std::move(name), std::move(data))});
  }
  const core::TurnOutcome& enqueue(std::string queue, std::string data) {
    return deliver({enqueuing(std::move(queue), std::move(data))});
  }
  /// Children are called by the orchestration they run: the one scheduled last.
  template <class R>
  const core::TurnOutcome& complete_child(std::string_view child, const R& result) {
    return deliver({child_completion(child, result)});
  }
  const core::TurnOutcome& fail_child(std::string_view child, Failure failure) {
    return deliver({message::SubOrchestrationFailed{link_to(child), std::move(failure)}});
  }
  /// Several messages in one turn, in queue order.
  const core::TurnOutcome& deliver(std::vector<MessageBody> messages);
  void advance(Duration by) { now_ += by; }
  /// The source of random values from the next turn on.
  void set_entropy(std::uint64_t entropy) { entropy_ = entropy; }

  /// From the next turn on a new version of the code runs.
  template <class F>
  void deploy(F code) {
    set_handler(handler_of(std::move(code)));
  }
  /// No code is registered any more.
  void undeploy() { set_handler(nullptr); }
  /// Replaces what the store holds. It need not be a history that this code can give.
  void forge(std::vector<Event> history);

  // -- messages, for batches --------------------------------------------------------------------------------

  [[nodiscard]] MessageBody started(Payload input = Payload::none()) const;
  template <class R>
  [[nodiscard]] MessageBody completion(std::string_view activity, const R& result) const {
    return message::ActivityCompleted{identity_.execution, id_of(activity), encode_payload(result)};
  }
  [[nodiscard]] MessageBody completion(std::string_view activity) const {
    return message::ActivityCompleted{identity_.execution, id_of(activity), Payload::none()};
  }
  [[nodiscard]] MessageBody failing(std::string_view activity, std::string message) const;
  [[nodiscard]] MessageBody firing(std::string_view delay) const;
  [[nodiscard]] MessageBody cancelling(std::string reason, CancelMode mode = CancelMode::graceful) const {
    return message::CancelInstance{std::move(reason), mode};
  }
  [[nodiscard]] static MessageBody raising(std::string name, std::string data) {
    return message::ExternalRaised{std::move(name), Payload::text(std::move(data))};
  }
  [[nodiscard]] static MessageBody enqueuing(std::string queue, std::string data) {
    return message::QueueMessage{std::move(queue), Payload::text(std::move(data))};
  }
  template <class R>
  [[nodiscard]] MessageBody child_completion(std::string_view child, const R& result) const {
    return message::SubOrchestrationCompleted{link_to(child), encode_payload(result)};
  }
  /// The parent link of a child.
  [[nodiscard]] ParentLink link_to(std::string_view child) const {
    return {identity_.instance, identity_.incarnation, identity_.execution,
            id_of("child " + std::string(child))};
  }

  // -- results ----------------------------------------------------------------------------------------------

  [[nodiscard]] const std::vector<Event>& history() const { return history_; }
  [[nodiscard]] std::vector<std::string> story() const { return story_of(history_); }
  /// Only the last turn's part of it.
  [[nodiscard]] std::vector<std::string> last_turn() const;
  [[nodiscard]] const core::TurnOutcome& turn() const { return turn_; }
  [[nodiscard]] Status status() const { return status_; }
  [[nodiscard]] bool running() const { return status_ == Status::running; }
  template <class T = std::string>
  [[nodiscard]] T output() const {
    if (!output_) throw std::logic_error("the orchestration has no output: " + describe_end());
    return decode_payload<T>(*output_);
  }
  [[nodiscard]] Failure failure() const { return failure_.value_or(Failure{}); }
  [[nodiscard]] TimePoint now() const { return now_; }

  template <class Body>
  [[nodiscard]] std::vector<Event> events() const {
    std::vector<Event> found;
    for (const Event& event : history_) {
      if (std::holds_alternative<Body>(event.body)) found.push_back(event);
    }
    return found;
  }
  [[nodiscard]] EventId id_of(std::string_view activity) const;
  [[nodiscard]] EventId timer_id(std::string_view delay) const;

  /// Names of the activities that are in the worker queue now.
  [[nodiscard]] std::vector<std::string> worker_queue() const;
  /// Delays of the timers that wait in the orchestrator queue now.
  [[nodiscard]] std::vector<std::string> timers_waiting() const;
  /// Names of the activities that the last turn sent out, and that it stopped.
  [[nodiscard]] std::vector<std::string> sent() const;
  [[nodiscard]] std::vector<std::string> stopped() const;
  [[nodiscard]] std::vector<std::string> timers_dropped() const;
  /// The last turn's messages of one kind, with their targets.
  template <class Item>
  [[nodiscard]] std::vector<std::pair<InstanceId, Item>> messages() const {
    std::vector<std::pair<InstanceId, Item>> found;
    for (const OutboundMessage& message : turn_.messages) {
      if (const auto* item = std::get_if<Item>(&message.body)) found.emplace_back(message.target, *item);
    }
    return found;
  }
  /// The messages of the last turn that stay in the queue.
  [[nodiscard]] const std::vector<MessageBody>& left() const { return left_; }
  /// The start of the next execution, as the last turn left it.
  [[nodiscard]] message::ContinueAsNew next_execution() const;

 private:
  [[nodiscard]] std::unique_ptr<core::Execution> new_execution() const;
  [[nodiscard]] core::TurnOutcome run(core::Execution& execution,
                                      const std::vector<MessageBody>& messages) const;
  void set_handler(std::shared_ptr<const OrchestrationHandler> handler);
  void remember(core::TurnOutcome outcome);
  void take_from_queues(const std::vector<MessageBody>& messages);
  [[nodiscard]] std::string describe_end() const;
  [[nodiscard]] std::string name_of(EventId id) const;
  void check_turn() const;
  void check_nothing_is_left() const;
  void check_every_prefix() const;

  std::shared_ptr<const OrchestrationHandler> handler_;
  Mode mode_;
  core::ExecutionOptions limits_;
  core::ExecutionIdentity identity_;
  TimePoint now_ = from_unix_ms(1'000'000);
  std::uint64_t entropy_ = 7;
  bool check_prefixes_ = true;

  std::unique_ptr<core::Execution> resident_;
  std::unique_ptr<core::Execution> behind_;  // as it was before the last turn

  std::vector<Event> history_;
  std::vector<std::uint64_t> entropies_;  // of the turn that added each event
  core::TurnOutcome turn_;
  std::vector<MessageBody> left_;
  Status status_ = Status::pending;
  std::optional<Payload> output_;
  std::optional<Failure> failure_;
  std::set<EventId> workers_;
  std::set<EventId> timers_;
};

}  // namespace duramen::core_test
