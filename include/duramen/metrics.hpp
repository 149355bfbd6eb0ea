// Metrics of a running system. The host decides where they go; a Prometheus text writer is included.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace duramen::inline v0 {

struct MetricLabel {
  std::string_view name;
  std::string_view value;
};
using MetricLabels = std::span<const MetricLabel>;

/// Receives the metrics of a runtime. Called often, from any thread: it must return immediately. It should
/// not throw: an exception is swallowed, the value is lost, and the first one causes one line on standard
/// error. docs/reference/metrics.md lists the names; all begin with `duramen_`.
class Metrics {
 public:
  virtual ~Metrics() = default;
  /// Increments a counter, records a histogram value, sets a gauge. `labels` are valid only during the call.
  virtual void add(std::string_view counter, std::uint64_t by, MetricLabels labels) = 0;
  virtual void observe(std::string_view histogram, double value, MetricLabels labels) = 0;
  virtual void set(std::string_view gauge, double value, MetricLabels labels) = 0;
};

/// Keeps all values in memory and writes them in the Prometheus text format, for an endpoint of the host.
class PrometheusMetrics final : public Metrics {
 public:
  PrometheusMetrics();
  ~PrometheusMetrics() override;

  void add(std::string_view counter, std::uint64_t by, MetricLabels labels) override;
  void observe(std::string_view histogram, double value, MetricLabels labels) override;
  void set(std::string_view gauge, double value, MetricLabels labels) override;

  /// All values so far, in the Prometheus text format (version 0.0.4). Thread-safe.
  [[nodiscard]] std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace duramen::inline v0
