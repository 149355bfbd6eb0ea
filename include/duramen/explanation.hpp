// The explanation of an instance: what it waits for, whether it is stuck, and the reasons of cancellations.
//
// The parts are read from the store one shortly after the other; a busy instance may change between two
// reads.
#pragma once

#include <duramen/failure.hpp>
#include <duramen/history.hpp>
#include <duramen/ids.hpp>
#include <duramen/management.hpp>
#include <duramen/status.hpp>
#include <duramen/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace duramen::inline v0 {

/// Something an instance waits for.
struct Waiting {
  enum class Kind : std::uint8_t { activity, timer, event, queue, child };
  Kind kind = Kind::activity;
  EventId event;  ///< the event that recorded it
  /// The name of the activity, event, queue or the child's orchestration; empty for a timer.
  std::string name;
  TimePoint since;
  /// Timer: when it fires. Activity: when it may be handed out, if that is later.
  std::optional<TimePoint> due;

  // -- activity ---
  std::optional<std::string> tag;
  std::optional<std::string> session;
  /// The node that runs it; empty if none does.
  NodeId node;
  std::uint32_t attempt = 0;  ///< number of times it was handed out

  // -- child ---
  InstanceId child;
  /// Absent if the child does not exist, or not yet.
  std::optional<Status> child_status;

  std::string text;  ///< this entry in words
};

/// "activity", "timer", "event", "queue" or "child".
[[nodiscard]] std::string_view to_string(Waiting::Kind kind) noexcept;

/// A request to end the instance.
struct CancelRequest {
  std::string reason;
  CancelMode mode = CancelMode::graceful;
  CancelOrigin by = CancelOrigin::client;
  std::optional<InstanceId> parent;  ///< the parent, with CancelOrigin::parent
  TimePoint at;
  /// The person or program that asked, if it said so.
  std::optional<std::string> requested_by = std::nullopt;
};

/// A step that the instance had requested and no longer wanted.
struct CancelledStep {
  Waiting::Kind kind = Waiting::Kind::activity;
  EventId event;  ///< the event that recorded it
  std::string name;
  CancelReason reason{};
  TimePoint at;
};

struct Explanation {
  /// A judgement about the instance. `duramen explain` and `duramen doctor` both report these, and no others.
  struct Finding {
    enum class Kind : std::uint8_t {
      /// It continues only after a repair of what the text names.
      stuck,
      /// An activity was handed out, returned without a result, and no worker has taken it since.
      let_go,
      /// It continues only with an event or message that has not been sent, perhaps by a person.
      unsent,
      /// Its parent is gone or has ended, so no instance takes its result.
      orphan,
    };
    Kind kind = Kind::stuck;
    /// The instance concerned: the explained one, or one below it that it waits for.
    InstanceId instance;
    std::string text;  ///< in words, with what to do
  };

  InstanceInfo info;
  /// Its state, as a sentence; also names its code if nodes are live and none of them has it.
  std::string status;
  std::vector<Waiting> waits;  ///< oldest first
  /// At most one of each kind; empty if no problem is visible.
  std::vector<Finding> findings;
  /// The text of the finding of kind `stuck`, if there is one.
  std::optional<std::string> stuck;
  bool in_turn = false;  ///< a node works on it now
  std::optional<CancelRequest> cancel_request;
  /// A request that no turn has taken yet.
  std::optional<CancelRequest> queued_cancel;
  std::vector<CancelledStep> cancelled;  ///< of the current execution, oldest first
  /// The whole explanation in lines, for people.
  std::string text;
};

/// "stuck", "let_go", "unsent" or "orphan".
[[nodiscard]] std::string_view to_string(Explanation::Finding::Kind kind) noexcept;

struct ExplainOptions {
  /// An instance without progress for this long is reported as stuck.
  Duration long_time = std::chrono::seconds{30};
  /// An activity or turn handed out this many times without finishing is reported as stuck.
  std::uint32_t many_attempts = 3;
};

}  // namespace duramen::inline v0
