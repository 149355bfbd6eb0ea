#include "runtime/instruments.hpp"

#include "base/guarded.hpp"
#include <duramen/detail/mutant.hpp>

#include <array>
#include <utility>

namespace duramen::inline v0::runtime {

namespace {

std::string_view name_of(ActivityOutcome outcome) {
  switch (outcome) {
    case ActivityOutcome::success:
      return "success";
    case ActivityOutcome::app_error:
      return "app_error";
    case ActivityOutcome::cancelled:
      return "cancelled";
    case ActivityOutcome::lease_lost:
      return "lease_lost";
    case ActivityOutcome::released:
      return "given_back";
    case ActivityOutcome::poison:
      return "poison";
  }
  return "app_error";
}

std::string_view status_label(Status status) {
  switch (status) {
    case Status::completed:
      return "success";
    case Status::cancelled:
      return "cancelled";
    case Status::continued_as_new:
      return "continuedAsNew";
    default:
      return "failed";
  }
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

/// The user's sink without its exceptions.
class GuardedMetrics final : public Metrics {
 public:
  explicit GuardedMetrics(std::shared_ptr<Metrics> sink) : sink_(std::move(sink)) {}
  void add(std::string_view counter, std::uint64_t by, MetricLabels labels) override {
    guard([&] { sink_->add(counter, by, labels); });
  }
  void observe(std::string_view histogram, double value, MetricLabels labels) override {
    guard([&] { sink_->observe(histogram, value, labels); });
  }
  void set(std::string_view gauge, double value, MetricLabels labels) override {
    guard([&] { sink_->set(gauge, value, labels); });
  }

 private:
  template <class Report>
  void guard(const Report& report) {
    try {
      report();
    } catch (...) {
      if (detail::mutant("metrics_may_throw")) throw;
      swallowed_();
    }
  }
  const std::shared_ptr<Metrics> sink_;
  base::Swallowed swallowed_{"Metrics"};
};

}  // namespace

Instruments::Instruments(std::shared_ptr<Metrics> sink)
    : sink_(sink ? std::make_shared<GuardedMetrics>(std::move(sink)) : nullptr) {}

void Instruments::execution_began(const TurnLabels& turn, std::string_view initiated_by) const {
  if (!sink_) return;
  const std::array<MetricLabel, 3> labels{{{"orchestration_name", turn.orchestration},
                                           {"version", turn.version},
                                           {"initiated_by", initiated_by}}};
  sink_->add("duramen_orchestration_starts_total", 1, labels);
}

void Instruments::turn_committed(const TurnLabels& turn, std::size_t replayed_events, bool first) const {
  if (!sink_) return;
  const std::array<MetricLabel, 1> labels{{{"orchestration_name", turn.orchestration}}};
  sink_->add("duramen_orchestration_turns_total", 1, labels);
  // Before its first turn an execution has nothing that could be resident.
  if (!first || detail::mutant("first_turns_are_misses")) {
    const bool hit = !first && replayed_events == 0;
    sink_->add(hit ? "duramen_resident_hits_total" : "duramen_resident_misses_total", 1, {});
  }
  if (replayed_events > 0) sink_->add("duramen_replayed_events_total", replayed_events, {});
}

void Instruments::child_called(const TurnLabels& parent, const std::string& child) const {
  if (!sink_) return;
  const std::array<MetricLabel, 2> labels{
      {{"parent_orchestration", parent.orchestration}, {"child_orchestration", child}}};
  sink_->add("duramen_suborchestration_calls_total", 1, labels);
}

void Instruments::execution_ended(const TurnLabels& turn, Status status,
                                  const std::optional<Failure>& failure, Duration duration,
                                  std::uint64_t events) const {
  if (!sink_) return;
  const std::array<MetricLabel, 3> labels{{{"orchestration_name", turn.orchestration},
                                           {"version", turn.version},
                                           {"status", status_label(status)}}};
  const MetricLabels name(labels.data(), 1);
  sink_->add("duramen_orchestration_completions_total", 1, labels);
  sink_->observe("duramen_orchestration_duration_seconds", seconds(duration), labels);
  sink_->observe("duramen_orchestration_history_size", static_cast<double>(events), name);
  if (status == Status::continued_as_new) sink_->add("duramen_orchestration_continue_as_new_total", 1, name);
  if (status != Status::failed || !failure) return;
  const std::array<MetricLabel, 3> why{{{"orchestration_name", turn.orchestration},
                                        {"version", turn.version},
                                        {"error_type", to_string(failure->kind)}}};
  sink_->add("duramen_orchestration_failures_total", 1, why);
  if (failure->kind == FailureKind::poison) sink_->add("duramen_orchestration_poison_total", 1, name);
}

void Instruments::turn_ran(double seconds) const {
  if (sink_) sink_->observe("duramen_turn_duration_seconds", seconds, {});
}

void Instruments::commit_stored(std::size_t batch, double seconds) const {
  if (!sink_) return;
  sink_->observe("duramen_commit_batch_size", static_cast<double>(batch), {});
  sink_->observe("duramen_commit_duration_seconds", seconds, {});
}

void Instruments::activity_ended(const ActivityRequest& item, ActivityOutcome outcome,
                                 Duration duration) const {
  if (!sink_) return;
  const std::array<MetricLabel, 3> labels{{{"activity_name", item.name},
                                           {"outcome", name_of(outcome)},
                                           {"tag", item.tag ? std::string_view(*item.tag) : "default"}}};
  sink_->add("duramen_activity_executions_total", 1, labels);
  sink_->observe("duramen_activity_duration_seconds", seconds(duration), labels);
  if (outcome == ActivityOutcome::poison) {
    sink_->add("duramen_activity_poison_total", 1, MetricLabels(labels.data(), 1));
  }
}

void Instruments::abandoned(std::size_t now) const {
  if (sink_) sink_->set("duramen_activity_abandoned", static_cast<double>(now), {});
}

void Instruments::cancel_delivered(double seconds, bool decided_here) const {
  if (!sink_) return;
  const std::array<MetricLabel, 1> labels{{{"decided", decided_here ? "here" : "elsewhere"}}};
  sink_->observe("duramen_cancel_delivery_seconds", seconds, labels);
}

void Instruments::fetched(std::size_t turns, std::size_t activities) const {
  if (!sink_) return;
  if (turns > 0) sink_->add("duramen_orchestration_dispatcher_items_fetched_total", turns, {});
  if (activities > 0) sink_->add("duramen_worker_dispatcher_items_fetched_total", activities, {});
}

void Instruments::provider_call(std::string_view operation, double seconds, const Error* error) const {
  if (!sink_) return;
  const std::array<MetricLabel, 2> labels{
      {{"operation", operation}, {"status", error == nullptr ? "success" : "error"}}};
  sink_->observe("duramen_provider_operation_duration_seconds", seconds, labels);
  if (error == nullptr) return;
  const std::array<MetricLabel, 2> why{{{"operation", operation}, {"error_type", to_string(error->code)}}};
  sink_->add("duramen_provider_errors_total", 1, why);
}

void Instruments::depths(const QueueDepths& depths) const {
  if (!sink_) return;
  sink_->set("duramen_orchestrator_queue_depth", static_cast<double>(depths.orchestrator_due), {});
  sink_->set("duramen_orchestrator_queue_later", static_cast<double>(depths.orchestrator_later), {});
  sink_->set("duramen_worker_queue_depth", static_cast<double>(depths.worker_due), {});
  sink_->set("duramen_parked_messages", static_cast<double>(depths.parked), {});
}

void Instruments::active(std::uint64_t instances) const {
  if (sink_) sink_->set("duramen_active_orchestrations", static_cast<double>(instances), {});
}

}  // namespace duramen::inline v0::runtime
