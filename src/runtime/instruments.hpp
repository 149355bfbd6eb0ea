// Everything the runtime counts, in one place. Each thing is counted once, when it becomes true.
#pragma once

#include <duramen/failure.hpp>
#include <duramen/management.hpp>
#include <duramen/metrics.hpp>
#include <duramen/provider.hpp>
#include <duramen/status.hpp>
#include <duramen/time.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace duramen::inline v0::runtime {

/// The execution that a turn belongs to.
struct TurnLabels {
  const std::string& orchestration;
  const std::string& version;
};

enum class ActivityOutcome : std::uint8_t { success, app_error, cancelled, lease_lost, released, poison };

/// Without a sink calls cost nothing. Exceptions of the sink do not leave a call. Any thread.
class Instruments {
 public:
  explicit Instruments(std::shared_ptr<Metrics> sink);
  [[nodiscard]] bool on() const noexcept { return sink_ != nullptr; }

  // Turns, when they are committed.
  void execution_began(const TurnLabels& turn, std::string_view initiated_by) const;
  void turn_committed(const TurnLabels& turn, std::size_t replayed_events, bool first) const;
  void child_called(const TurnLabels& parent, const std::string& child) const;
  void execution_ended(const TurnLabels& turn, Status status, const std::optional<Failure>& failure,
                       Duration duration, std::uint64_t events) const;
  void turn_ran(double seconds) const;
  void commit_stored(std::size_t batch, double seconds) const;

  // Activities.
  void activity_ended(const ActivityRequest& item, ActivityOutcome outcome, Duration duration) const;
  void abandoned(std::size_t now) const;
  void cancel_delivered(double seconds, bool decided_here) const;

  // The store.
  void fetched(std::size_t turns, std::size_t activities) const;
  void provider_call(std::string_view operation, double seconds, const Error* error) const;
  void depths(const QueueDepths& depths) const;
  void active(std::uint64_t instances) const;

 private:
  const std::shared_ptr<Metrics> sink_;
};

}  // namespace duramen::inline v0::runtime
