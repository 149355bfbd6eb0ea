// The world around one execution: the worker queue, the timers, the children, and the senders of messages.
//
// It receives the outputs of a turn, and chooses the next arrivals: answers in any order, one or several in a
// batch, some twice, some late, some for other instances, and now and then an event or a cancellation.
#pragma once

#include "core/execution.hpp"
#include "core/property/rng.hpp"
#include "core/turn.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace duramen::core_test::property {

struct Batch {
  std::vector<MessageBody> messages;
  bool genuine = false;  ///< one message, and the execution waits for it: it must not be ignored
  bool foreign =
      false;  ///< holds an answer to something that was never asked: the engine must end the execution
};

class Outside {
 public:
  Outside(core::ExecutionIdentity identity, std::optional<ParentLink> parent)
      : identity_(std::move(identity)), parent_(std::move(parent)) {}

  [[nodiscard]] Batch next_batch(Rng& rng);
  /// The messages that may follow the start in the first batch.
  void add_early_messages(Rng& rng, std::vector<MessageBody>& messages);
  [[nodiscard]] TimePoint now() const { return now_; }

  /// Takes in what a turn decided; `history` ends with its events. Says what is wrong with it, if anything
  /// is.
  [[nodiscard]] std::optional<std::string> take(const core::TurnOutcome& turn,
                                                const std::vector<MessageBody>& batch,
                                                const std::vector<Event>& history);

 private:
  [[nodiscard]] std::optional<MessageBody> answer(Rng& rng);
  [[nodiscard]] MessageBody complete_activity(EventId id, Rng& rng) const;
  [[nodiscard]] MessageBody complete_child(EventId id, Rng& rng) const;
  [[nodiscard]] MessageBody raise(Rng& rng) const;
  [[nodiscard]] MessageBody cancel(Rng& rng) const;
  [[nodiscard]] std::optional<MessageBody> odd_one(Rng& rng, bool& foreign);
  [[nodiscard]] std::optional<std::string> take_activities(const core::TurnOutcome& turn,
                                                           const std::vector<Event>& history);
  [[nodiscard]] std::optional<std::string> take_messages(const core::TurnOutcome& turn);
  [[nodiscard]] std::optional<std::string> check_against(const std::vector<Event>& history, bool ended) const;

  core::ExecutionIdentity identity_;
  std::optional<ParentLink> parent_;
  TimePoint now_ = from_unix_ms(1'000'000);
  std::map<EventId, std::string> workers_;  // the activity's name
  std::map<EventId, TimePoint> timers_;
  std::map<EventId, InstanceId> children_;
  std::vector<EventId> stopped_activities_;
  std::map<EventId, InstanceId> stopped_children_;
  std::vector<MessageBody> delivered_;
};

}  // namespace duramen::core_test::property
