// Numbers about a running system. The host decides where they go; Prometheus text is in the box.
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

/// What a runtime reports to. Called from any thread, often: it must return at once. It should not throw: an
/// exception from it is swallowed, the number is lost, and standard error gets one line about the first one.
/// docs/reference/metrics.md lists the names; all begin with `duramen_`.
class Metrics {
 public:
  virtual ~Metrics() = default;
  /// A counter grows, a histogram gets a value, a gauge is set. `labels` live only as long as the call.
  virtual void add(std::string_view counter, std::uint64_t by, MetricLabels labels) = 0;
  virtual void observe(std::string_view histogram, double value, MetricLabels labels) = 0;
  virtual void set(std::string_view gauge, double value, MetricLabels labels) = 0;
};

/// Keeps everything in memory and writes it in the Prometheus text format, for an endpoint of the host's.
class PrometheusMetrics final : public Metrics {
 public:
  PrometheusMetrics();
  ~PrometheusMetrics() override;

  void add(std::string_view counter, std::uint64_t by, MetricLabels labels) override;
  void observe(std::string_view histogram, double value, MetricLabels labels) override;
  void set(std::string_view gauge, double value, MetricLabels labels) override;

  /// Everything so far, in the Prometheus text format (version 0.0.4). Thread-safe.
  [[nodiscard]] std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace duramen::inline v0
