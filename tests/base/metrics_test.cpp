// The Prometheus text of what was reported.
#include <duramen/metrics.hpp>

#include "base/metric_help.hpp"
#include "base/utf8.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <sstream>
#include <thread>
#include <vector>

namespace duramen {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> lines_of(const PrometheusMetrics& metrics) {
  std::istringstream text(metrics.text());
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

using Labels = std::vector<MetricLabel>;

TEST(Prometheus, NothingReportedIsAnEmptyPage) { EXPECT_EQ(PrometheusMetrics{}.text(), ""); }

TEST(Prometheus, ACounterAddsUpPerSetOfLabels) {
  PrometheusMetrics metrics;
  metrics.add("duramen_orchestration_starts_total", 1, Labels{{"orchestration_name", "pay"}});
  metrics.add("duramen_orchestration_starts_total", 4, Labels{{"orchestration_name", "pay"}});
  metrics.add("duramen_orchestration_starts_total", 1, Labels{{"orchestration_name", "ship"}});
  EXPECT_EQ(metrics.text(),
            "# HELP duramen_orchestration_starts_total Executions that began.\n"
            "# TYPE duramen_orchestration_starts_total counter\n"
            "duramen_orchestration_starts_total{orchestration_name=\"pay\"} 5\n"
            "duramen_orchestration_starts_total{orchestration_name=\"ship\"} 1\n");
}

TEST(Prometheus, TheOrderOfLabelsDoesNotMatter) {
  PrometheusMetrics metrics;
  metrics.add("c_total", 1, Labels{{"b", "2"}, {"a", "1"}});
  metrics.add("c_total", 1, Labels{{"a", "1"}, {"b", "2"}});
  EXPECT_THAT(metrics.text(), HasSubstr("c_total{a=\"1\",b=\"2\"} 2\n"));
}

TEST(Prometheus, AGaugeIsWhatItWasSetToLast) {
  PrometheusMetrics metrics;
  metrics.set("g", 3, {});
  metrics.set("g", 1.5, {});
  metrics.set("big", std::numeric_limits<double>::infinity(), {});
  EXPECT_THAT(metrics.text(), HasSubstr("# TYPE g gauge\ng 1.5\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("big +Inf\n"));
}

TEST(Prometheus, AHistogramOfSecondsCountsUpToEachLimit) {
  PrometheusMetrics metrics;
  for (const double seconds : {0.0004, 0.0005, 0.3, 59.0, 61.0}) {
    metrics.observe("duramen_turn_duration_seconds", seconds, Labels{{"n", "x"}});
  }
  const auto lines = lines_of(metrics);
  const auto has = [&](std::string_view line) { EXPECT_THAT(lines, ::testing::Contains(line)); };
  has("# TYPE duramen_turn_duration_seconds histogram");
  has("duramen_turn_duration_seconds_bucket{n=\"x\",le=\"0.0005\"} 2");
  has("duramen_turn_duration_seconds_bucket{n=\"x\",le=\"0.25\"} 2");
  has("duramen_turn_duration_seconds_bucket{n=\"x\",le=\"0.5\"} 3");
  has("duramen_turn_duration_seconds_bucket{n=\"x\",le=\"60\"} 4");
  has("duramen_turn_duration_seconds_bucket{n=\"x\",le=\"+Inf\"} 5");
  has("duramen_turn_duration_seconds_count{n=\"x\"} 5");
  EXPECT_THAT(metrics.text(), HasSubstr("duramen_turn_duration_seconds_sum{n=\"x\"} 120.3009\n"));
}

TEST(Prometheus, AHistogramOfAnythingElseHasBucketsForCounts) {
  PrometheusMetrics metrics;
  metrics.observe("duramen_orchestration_turns", 3, {});
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("duramen_orchestration_turns_bucket{le=\"2\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("duramen_orchestration_turns_bucket{le=\"5\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("le=\"0.")));
}

TEST(Prometheus, AnObservationThatIsNoNumberDoesNotSpoilTheSum) {
  PrometheusMetrics metrics;
  metrics.observe("h_seconds", std::numeric_limits<double>::quiet_NaN(), {});
  metrics.observe("h_seconds", std::numeric_limits<double>::infinity(), {});
  metrics.observe("h_seconds", 1, {});
  EXPECT_THAT(metrics.text(), HasSubstr("h_seconds_sum 1\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("h_seconds_count 1\n"));
}

TEST(Prometheus, LabelValuesAreEscaped) {
  PrometheusMetrics metrics;
  metrics.add("c_total", 1, Labels{{"v", "a\\b\"c\nd"}});
  EXPECT_THAT(metrics.text(), HasSubstr("c_total{v=\"a\\\\b\\\"c\\nd\"} 1\n"));
}

TEST(Prometheus, HostileNamesAndValuesLeaveAPageThatCanBeRead) {
  PrometheusMetrics metrics;
  const std::vector<std::string> hostile{
      "",          "\n",       "1st", "a b{c=\"d\"} 5",       "\xff\xfe",
      "a-seconds", "\xe2\x82", "le",  std::string("x\0y", 3), "\"} 1\nfake 2"};
  for (const std::string& bad : hostile) {
    for (const std::string& value : hostile) {
      metrics.add(bad + "_c", 1, Labels{{bad, value}, {bad, "twice"}});
      metrics.observe(bad, 0.01, Labels{{bad, value}});
      metrics.set(bad + "_g", 1, Labels{{bad, value}});
    }
  }
  EXPECT_TRUE(base::is_text(metrics.text()));
  const std::string name = "[a-zA-Z_:][a-zA-Z0-9_:]*";
  const std::string label = "[a-zA-Z_][a-zA-Z0-9_]*=\"([^\"\\]|\\\\\\\\|\\\\\"|\\\\n)*\"";
  const std::string sample = name + "(\\{" + label + "(," + label + ")?\\})? [-+0-9.eInfNa]+";
  for (const std::string& line : lines_of(metrics)) {
    if (line.starts_with("# HELP ") || line.starts_with("# TYPE ")) continue;
    EXPECT_THAT(line, ::testing::MatchesRegex(sample));
  }
}

TEST(Prometheus, ANameHasOneTypeAndOneHead) {
  PrometheusMetrics metrics;
  metrics.set("x", 7, {});
  metrics.add("x", 1, {});
  metrics.add("x", 1, Labels{{"a", "b"}});
  EXPECT_EQ(metrics.text(),
            "# HELP x Reported by the host program.\n"
            "# TYPE x counter\n"
            "x 1\n"
            "x{a=\"b\"} 1\n"
            // the gauge of that name is not shown
            "");
}

TEST(Prometheus, ThePageDoesNotDependOnTheOrderOfReports) {
  const std::array names{"b_total", "a_total", "c_total"};
  const std::array values{"2", "10", "1"};
  PrometheusMetrics one;
  PrometheusMetrics other;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      one.add(names[i], 1, Labels{{"v", values[j]}});
      other.add(names[2 - i], 1, Labels{{"v", values[2 - j]}});
    }
  }
  EXPECT_EQ(one.text(), other.text());
}

TEST(Prometheus, ManyThreadsLoseNothing) {
  PrometheusMetrics metrics;
  constexpr int threads = 8;
  constexpr int rounds = 2000;
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&metrics, t] {
      const std::string own = std::to_string(t);
      for (int i = 0; i < rounds; ++i) {
        metrics.add("shared_total", 1, {});
        metrics.add("own_total", 1, Labels{{"t", own}});
        metrics.observe("h_seconds", 0.01, {});
        metrics.set("g", i, {});
        if (i % 500 == 0) EXPECT_FALSE(metrics.text().empty());
      }
    });
  }
  for (auto& thread : running) thread.join();
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("shared_total 16000\n"));
  EXPECT_THAT(text, HasSubstr("h_seconds_count 16000\n"));
  EXPECT_THAT(text, HasSubstr("h_seconds_bucket{le=\"0.01\"} 16000\n"));
  EXPECT_THAT(text, HasSubstr("g 1999\n"));
  for (int t = 0; t < threads; ++t) {
    EXPECT_THAT(text, HasSubstr("own_total{t=\"" + std::to_string(t) + "\"} 2000\n"));
  }
}

}  // namespace
}  // namespace duramen
