// Metrics in memory, and their Prometheus text.
//
// A series is a name with its labels. Series are spread over shards by hash, each with its own lock, so that
// threads reporting different series rarely meet. text() does all sorting and formatting.
#include <duramen/metrics.hpp>

#include "base/metric_help.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace duramen::inline v0 {

namespace {

enum class Kind : char { counter = 'c', gauge = 'g', histogram = 'h' };

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::counter:
      return "counter";
    case Kind::gauge:
      return "gauge";
    case Kind::histogram:
      return "histogram";
  }
  return "untyped";
}

constexpr std::array second_buckets{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                    0.25,   0.5,   1.0,    2.5,   5.0,  10.0,  30.0, 60.0};
constexpr std::array count_buckets{1.0,   2.0,   5.0,    10.0,   20.0,   50.0,    100.0,
                                   200.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0, 100000.0};

std::span<const double> buckets_of(std::string_view histogram) {
  if (histogram.ends_with("_seconds")) return second_buckets;
  return count_buckets;
}

struct Series {
  std::uint64_t count = 0;               // counter, histogram
  double value = 0;                      // gauge; sum of a histogram
  std::span<const double> limits;        // histogram
  std::vector<std::uint64_t> in_bucket;  // histogram: one more than its limits
};

// -- the key of a series: its kind, its name, its labels as they are printed --------------------------------

constexpr char separator = '\0';  // in no name and no printed label

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Prometheus rejects a whole page for one bad name.
void append_name(std::string& out, std::string_view name, bool colons) {
  if (name.empty() || is_digit(name.front())) out.push_back('_');
  for (const char c : name) out.push_back(is_letter(c) || is_digit(c) || (colons && c == ':') ? c : '_');
}

void append_label_value(std::string& out, std::string_view value) {
  for (const char c : value) {
    if (c == '\\') {
      out.append("\\\\");
    } else if (c == '"') {
      out.append("\\\"");
    } else if (c == '\n') {
      out.append("\\n");
    } else {
      out.push_back(c);
    }
  }
}

/// `name="value",name="value"`, sorted by name; of two labels with one name only one is used.
void append_labels(std::string& out, MetricLabels labels) {
  std::vector<std::pair<std::string, std::string_view>> sorted;
  sorted.reserve(labels.size());
  for (const MetricLabel& label : labels) {
    std::string name;
    append_name(name, label.name, false);
    if (name == "le") name = "exported_le";  // reserved for the histogram
    sorted.emplace_back(std::move(name), label.value);
  }
  std::ranges::sort(sorted);
  const std::string* before = nullptr;
  for (const auto& [name, value] : sorted) {
    if (before && *before == name) continue;
    if (before) out.push_back(',');
    before = &name;
    out.append(name).append("=\"");
    if (base::is_text(value)) {
      append_label_value(out, value);
    } else {
      append_label_value(out, base::to_text(std::string(value)));
    }
    out.push_back('"');
  }
}

/// Kept per thread, so that reporting allocates only for sorting labels.
const std::string& key_of(Kind kind, std::string_view name, MetricLabels labels) {
  thread_local std::string key;
  key.clear();
  append_name(key, name, true);
  key.push_back(separator);
  key.push_back(static_cast<char>(kind));
  append_labels(key, labels);
  return key;
}

// -- text ---------------------------------------------------------------------------------------------------

void append_integer(std::string& out, std::uint64_t number) {
  std::array<char, 24> buffer{};
  out.append(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr);
}

void append_double(std::string& out, double number) {
  if (std::isnan(number)) {
    out.append("NaN");
  } else if (std::isinf(number)) {
    out.append(number > 0 ? "+Inf" : "-Inf");
  } else {
    std::array<char, 32> buffer{};
    out.append(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr);
  }
}

std::string limit_text(double limit) {
  std::array<char, 32> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), limit, std::chars_format::fixed).ptr;
  return {buffer.data(), end};
}

void append_head(std::string& out, std::string_view name, std::string_view suffix, std::string_view labels,
                 std::string_view le = {}) {
  out.append(name).append(suffix);
  if (!labels.empty() || !le.empty()) {
    out.push_back('{');
    out.append(labels);
    if (!le.empty()) {
      if (!labels.empty()) out.push_back(',');
      out.append("le=\"").append(le).append("\"");
    }
    out.push_back('}');
  }
  out.push_back(' ');
}

void append_histogram(std::string& out, std::string_view name, std::string_view labels,
                      const Series& series) {
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < series.limits.size(); ++i) {
    so_far += series.in_bucket[i];
    append_head(out, name, "_bucket", labels, limit_text(series.limits[i]));
    append_integer(out, so_far);
    out.push_back('\n');
  }
  append_head(out, name, "_bucket", labels, "+Inf");
  append_integer(out, series.count);
  out.push_back('\n');
  append_head(out, name, "_sum", labels);
  append_double(out, series.value);
  out.push_back('\n');
  append_head(out, name, "_count", labels);
  append_integer(out, series.count);
  out.push_back('\n');
}

void append_series(std::string& out, Kind kind, std::string_view name, std::string_view labels,
                   const Series& series) {
  if (kind == Kind::histogram) return append_histogram(out, name, labels, series);
  append_head(out, name, {}, labels);
  if (kind == Kind::counter) {
    append_integer(out, series.count);
  } else {
    append_double(out, series.value);
  }
  out.push_back('\n');
}

}  // namespace

struct PrometheusMetrics::Impl {
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<std::string, Series> series;  // guarded by mutex
  };
  std::array<Shard, 16> shards;

  template <class Change>
  void change(Kind kind, std::string_view name, MetricLabels labels, Change change) {
    const std::string& key = key_of(kind, name, labels);
    // Uses other bits than the map inside the shard.
    Shard& shard = shards[(std::hash<std::string>{}(key) >> 48U) % shards.size()];
    std::lock_guard lock(shard.mutex);
    change(shard.series[key]);
  }
};

PrometheusMetrics::PrometheusMetrics() : impl_(std::make_unique<Impl>()) {}
PrometheusMetrics::~PrometheusMetrics() = default;

void PrometheusMetrics::add(std::string_view counter, std::uint64_t by, MetricLabels labels) {
  impl_->change(Kind::counter, counter, labels, [by](Series& series) { series.count += by; });
}

void PrometheusMetrics::observe(std::string_view histogram, double value, MetricLabels labels) {
  if (!std::isfinite(value)) return;  // would make the sum invalid permanently
  impl_->change(Kind::histogram, histogram, labels, [&](Series& series) {
    if (series.in_bucket.empty()) {
      series.limits = buckets_of(histogram);
      series.in_bucket.resize(series.limits.size() + 1);
    }
    ++series.in_bucket[static_cast<std::size_t>(std::ranges::lower_bound(series.limits, value) -
                                                series.limits.begin())];
    ++series.count;
    series.value += value;
  });
}

void PrometheusMetrics::set(std::string_view gauge, double value, MetricLabels labels) {
  impl_->change(Kind::gauge, gauge, labels, [value](Series& series) { series.value = value; });
}

std::string PrometheusMetrics::text() const {
  std::map<std::string, Series> all;  // sorted: by name, then kind, then labels
  for (const Impl::Shard& shard : impl_->shards) {
    std::lock_guard lock(shard.mutex);
    all.insert(shard.series.begin(), shard.series.end());
  }
  std::string out;
  std::string_view family;
  Kind family_kind{};
  for (const auto& [key, series] : all) {
    const std::string_view name = std::string_view(key).substr(0, key.find(separator));
    const auto kind = static_cast<Kind>(key[name.size() + 1]);
    const std::string_view labels = std::string_view(key).substr(name.size() + 2);
    if (name != family) {
      family = name;
      family_kind = kind;
      out.append("# HELP ").append(name).append(" ").append(base::metric_help(name)).append("\n");
      out.append("# TYPE ").append(name).append(" ").append(to_string(kind)).append("\n");
    }
    // A name has one type. Values reported under another type cannot be shown.
    if (kind == family_kind) append_series(out, kind, name, labels, series);
  }
  return out;
}

}  // namespace duramen::inline v0
