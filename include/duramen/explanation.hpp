// Why an instance stands where it stands: what it waits for, whether it is stuck, who cancelled what.
//
// Everything here is read from the store at one moment or shortly after another; a busy instance may have
// moved on.
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

/// One thing an instance waits for.
struct Waiting {
  enum class Kind : std::uint8_t { activity, timer, event, queue, child };
  Kind kind = Kind::activity;
  EventId event;     ///< the event that recorded it
  std::string name;  ///< of the activity, event, queue or the child's orchestration; empty for a timer
  TimePoint since;
  std::optional<TimePoint>
      due;  ///< timer: when it fires; activity: when it may be handed out, if that is later

  // -- activity ---
  std::optional<std::string> tag;
  std::optional<std::string> session;
  NodeId node;                ///< who runs it; none: nobody
  std::uint32_t attempt = 0;  ///< how often it has been handed out

  // -- child ---
  InstanceId child;
  std::optional<Status> child_status;  ///< absent: it does not exist, or not yet

  std::string text;  ///< all of it in words
};

/// "activity", "timer", "event", "queue" or "child".
[[nodiscard]] std::string_view to_string(Waiting::Kind kind) noexcept;

/// Who asked the instance to end.
struct CancelRequest {
  std::string reason;
  CancelMode mode = CancelMode::graceful;
  CancelOrigin by = CancelOrigin::client;
  std::optional<InstanceId> parent;  ///< with CancelOrigin::parent: which
  TimePoint at;
};

/// Something the instance had asked for and no longer wanted.
struct CancelledStep {
  Waiting::Kind kind = Waiting::Kind::activity;
  EventId event;  ///< that had recorded it
  std::string name;
  CancelReason reason{};
  TimePoint at;
};

struct Explanation {
  /// A judgement about the instance. `duramen explain` and `duramen doctor` both report these, and no others.
  struct Finding {
    enum class Kind : std::uint8_t {
      stuck,   ///< it does not go on until somebody repairs what the text names
      let_go,  ///< an activity was handed out, came back without a result, and no worker has taken it since
      unsent,  ///< it goes on only with an event or a message that has not been sent: perhaps by a person
      orphan,  ///< its parent is gone or has ended, so no instance takes its result
    };
    Kind kind = Kind::stuck;
    InstanceId instance;  ///< the one concerned: the instance itself, or one below it that it waits for
    std::string text;     ///< in words, with what to do
  };

  InstanceInfo info;
  std::string status;                ///< where it stands, as a sentence
  std::vector<Waiting> waits;        ///< oldest first
  std::vector<Finding> findings;     ///< at most one of each kind; empty: nothing that can be seen
  std::optional<std::string> stuck;  ///< the text of the finding of that kind, if there is one
  bool in_turn = false;              ///< a node works on it now
  std::optional<CancelRequest> cancel_request;
  std::vector<CancelledStep> cancelled;  ///< of the current execution, oldest first
  std::string text;                      ///< all of it, in lines, for people
};

/// "stuck", "let_go", "unsent" or "orphan".
[[nodiscard]] std::string_view to_string(Explanation::Finding::Kind kind) noexcept;

struct ExplainOptions {
  /// What nobody has touched for so long counts as stuck.
  Duration long_time = std::chrono::seconds{30};
  /// Something that was handed out so often without an end counts as stuck.
  std::uint32_t many_attempts = 3;
};

}  // namespace duramen::inline v0
