// A leaf: the only kind of Operation that is recorded in history (an activity, a timer, a child, a wait, a
// recorded value).
#pragma once

#include <duramen/detail/operation.hpp>
#include <duramen/history.hpp>
#include <duramen/payload.hpp>
#include <duramen/time.hpp>

#include <cstdint>
#include <exception>
#include <optional>
#include <source_location>
#include <string>
#include <variant>

namespace duramen::inline v0::detail {

/// A timer before it is recorded: its due time counts from its first poll.
struct TimerRequest {
  Duration delay;
};

/// A value that must be the same on replay: created once, recorded, complete at its first poll.
enum class RecordedValue : std::uint8_t { new_guid, utc_now };

/// The request that a leaf records when it is started. A child without an explicit id gets one when it is
/// recorded.
using LeafRequest = std::variant<event::ActivityScheduled, TimerRequest, event::SubOrchestrationScheduled,
                                 event::ExternalSubscribed, event::QueueSubscribed, RecordedValue>;

/// The record of one attempt at a step that is retried.
struct AttemptRecord {
  EventId event;      ///< that scheduled it
  AttemptInfo ran{};  ///< once it has failed
  std::optional<Payload> heartbeat = std::nullopt;
};

class Leaf final : public Operation {
 public:
  /// `record`, if given, must outlive the leaf.
  Leaf(core::Execution& execution, LeafRequest request, std::source_location where,
       AttemptRecord* record = nullptr)
      : Operation(execution), request_(std::move(request)), where_(where), record_(record) {}
  ~Leaf() override;

  void drop(CancelReason reason) noexcept override;
  void detach() override;
  [[nodiscard]] Ended ended() const override;

  /// Called by the execution when the answer arrives.
  void resolve(Payload result);
  void resolve(Failure failure);
  void resolve(event::ActivityFailed failed);

  /// Called if the request was never recorded: awaiting the leaf throws `why`.
  void refuse(std::exception_ptr why);

  /// The result; throws the exception meant for the awaiting code.
  [[nodiscard]] const Payload& require() const;

  [[nodiscard]] LeafRequest& request() noexcept { return request_; }
  [[nodiscard]] const std::source_location& where() const noexcept { return where_; }
  [[nodiscard]] EventId event_id() const noexcept { return event_id_; }

 private:
  void do_start() override;

  LeafRequest request_;
  std::variant<std::monostate, Payload, Failure, std::exception_ptr> outcome_;
  std::source_location where_;
  AttemptRecord* record_;
  EventId event_id_;
  // Detached or dropped before: a drop has no effect.
  bool let_go_ = false;
};

}  // namespace duramen::inline v0::detail
