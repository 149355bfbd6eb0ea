// Code that the host plugs into a runtime may fail; the runtime continues.
#include "runtime/world.hpp"
#include <duramen/metrics.hpp>

#include <atomic>
#include <stdexcept>

namespace duramen::test {
namespace {

class PluggedIn : public ::testing::Test {
 protected:
  PluggedIn() {
    world.registry.add("Function", [](ActivityContext& ctx, int value) {
      ctx.trace_info("from a thread");
      return value + 1;
    });
    world.registry.add("Coroutine", [](ActivityContext& ctx, int value) -> ActivityTask<int> {
      ctx.trace_info("from a coroutine");
      co_return value + 1;
    });
    world.registry.add("both", [](OrchestrationContext& ctx, int value) -> Task<int> {
      ctx.trace_info("from a turn");
      const int one = co_await ctx.schedule_activity<int>("Function", value);
      co_return co_await ctx.schedule_activity<int>("Coroutine", one);
    });
  }
  World world;
  RuntimeOptions options;
};

// It ended the process: records come from the loop, and nothing catches there.
TEST_F(PluggedIn, ALogSinkThatThrowsStopsNothing) {
  std::atomic<int> records{0};
  options.log = [&records](const LogRecord&) {
    ++records;
    throw std::runtime_error("no room for logs");
  };
  ::testing::internal::CaptureStderr();
  world.run(options);
  EXPECT_EQ(world.finish("b", "both", 1).output_as<int>(), 3);
  world.runtimes.clear();
  const std::string reported = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(records, 3);
  const std::size_t first = reported.find("no room for logs");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(reported.find("no room for logs", first + 1), std::string::npos) << "reported once: " << reported;
}

TEST_F(PluggedIn, MetricsThatThrowStopNothing) {
  class Broken final : public Metrics {
   public:
    void add(std::string_view, std::uint64_t, MetricLabels) override { fail(); }
    void observe(std::string_view, double, MetricLabels) override { fail(); }
    void set(std::string_view, double, MetricLabels) override { fail(); }
    std::atomic<int> calls{0};

   private:
    void fail() {
      ++calls;
      throw 1;
    }
  };
  const auto metrics = std::make_shared<Broken>();
  options.metrics = metrics;
  ::testing::internal::CaptureStderr();
  world.run(options);
  EXPECT_EQ(world.finish("b", "both", 1).output_as<int>(), 3);
  world.runtimes.clear();
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("Metrics"), std::string::npos);
  EXPECT_GT(metrics->calls, 3);
}

}  // namespace
}  // namespace duramen::test
