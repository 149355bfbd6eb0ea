// Failures of durable operations. Their structure is kept across every boundary: activity to orchestration,
// child to parent, orchestration to client, process to process.
#pragma once

#include <duramen/export.hpp>

#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace duramen::inline v0 {

/// The kind of a failure.
enum class FailureKind : std::uint8_t {
  application,  ///< thrown by user code
  timeout,      ///< a deadline passed; `timeout` names it
  /// Stopped on request; `message` holds the reason.
  cancelled,
  poison,  ///< delivered too often without finishing
  /// The code no longer does what history recorded.
  nondeterminism,
  limit,           ///< a limit of the engine was exceeded
  infrastructure,  ///< the store or the machine
};

/// The time limit that passed.
enum class TimeoutKind : std::uint8_t { schedule_to_start, start_to_close, heartbeat, total };

/// The reason why an activity or child was asked to stop. A closed set: tools and alerts may rely on it. The
/// first reason wins.
enum class CancelReason : std::uint8_t {
  dropped_future,
  select_loser,
  timeout,
  orchestration_terminal_completed,
  orchestration_terminal_failed,
  orchestration_terminal_cancelled,
  orchestration_terminal_continued_as_new,
  parent_cancelled,
  instance_deleted,
  poison,
};

/// The spelling in stores, logs and tools; and its inverse.
[[nodiscard]] std::string_view to_string(FailureKind kind) noexcept;
[[nodiscard]] std::string_view to_string(TimeoutKind kind) noexcept;
[[nodiscard]] std::string_view to_string(CancelReason reason) noexcept;
[[nodiscard]] std::optional<FailureKind> parse_failure_kind(std::string_view text) noexcept;
[[nodiscard]] std::optional<TimeoutKind> parse_timeout_kind(std::string_view text) noexcept;
[[nodiscard]] std::optional<CancelReason> parse_cancel_reason(std::string_view text) noexcept;

/// The cause of a failure: carried by an exception inside one program, and by the store between programs.
///
/// The end of an activity or an orchestration stores at most max_failure_bytes of the message and of the
/// details, and max_name_bytes of the type. A longer message or type is cut between two characters, and a
/// mark with the original length is put at its end. Longer details are replaced, so that they stay JSON:
/// {"omitted":"the details had 70000 bytes; a failure stores at most 65536"}. To pass on more, store it
/// elsewhere and put a reference into the details. Details that are not JSON are stored as a JSON string.
struct Failure {
  FailureKind kind = FailureKind::application;
  /// The type thrown, or the engine's name for it: "std::runtime_error", "CardDeclined".
  std::string type;
  std::string message;  ///< for people; with `cancelled` the reason
  bool retryable = false;
  /// The application's own structure, as JSON text; empty if none. A stored failure has nothing else here.
  std::string details;
  /// Number of the failed attempt; 0 if not applicable.
  std::uint32_t attempt = 0;
  std::optional<TimeoutKind> timeout;  ///< only for kind timeout

  /// A failure thrown by user code, and the failure of a cancelled instance.
  [[nodiscard]] static Failure application(std::string type, std::string message);
  [[nodiscard]] static Failure cancelled(std::string reason);

  /// One line: "nondeterminism: ...", "cancelled: user request", or only the message of an application
  /// failure.
  [[nodiscard]] std::string describe() const;

  friend bool operator==(const Failure&, const Failure&) = default;
};

/// Describes the exception that a catch block handles: a DurableError keeps its structure, any other
/// std::exception becomes kind application with its type name and what().
[[nodiscard]] Failure failure_from(const std::exception_ptr& error);

/// Thrown by `co_await` when the awaited operation failed. Catch this for every failure, or a subclass for
/// one kind of source.
class DURAMEN_API DurableError : public std::runtime_error {
 public:
  explicit DurableError(Failure failure);
  /// The failure with its full structure.
  [[nodiscard]] const Failure& failure() const noexcept { return failure_; }

 private:
  Failure failure_;
};

/// An activity failed, timed out or was cancelled.
class DURAMEN_API ActivityError : public DurableError {
 public:
  using DurableError::DurableError;
};

/// A sub-orchestration failed or was cancelled.
class DURAMEN_API SubOrchestrationError : public DurableError {
 public:
  using DurableError::DurableError;
};

/// The orchestration was asked to stop and is cleaning up. Thrown by every await that is not shielded.
class DURAMEN_API CancelledError : public DurableError {
 public:
  using DurableError::DurableError;
};

/// A payload does not match the code: wrong type, broken JSON. Thrown by the call that reads it, so that it
/// can be caught.
class DURAMEN_API DecodeError : public DurableError {
 public:
  using DurableError::DurableError;
};

/// The caller exceeded a limit of the engine (<duramen/limits.hpp>): too many keys, an overlong text, name or
/// input. Thrown by the call, or by awaiting the future it returned; nothing was recorded, and a replay
/// throws it at the same place.
class DURAMEN_API LimitError : public DurableError {
 public:
  explicit LimitError(std::string message);
};

/// Throw this from an activity to fail with structure: a type to branch on, whether a retry makes sense,
/// details.
class DURAMEN_API ApplicationError : public DurableError {
 public:
  ApplicationError(std::string type, std::string message, bool retryable = true,
                   std::string details_json = {});
};

}  // namespace duramen::inline v0
