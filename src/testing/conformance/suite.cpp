// The table of all cases, and how one of them runs.
#include "testing/conformance/driver.hpp"
#include <duramen/testing/conformance.hpp>
#include <duramen/testing/manual_clock.hpp>

#include <exception>
#include <utility>

namespace duramen::inline v0::testing {
namespace {

class StoreWithManualClock final : public StoreUnderTest {
 public:
  explicit StoreWithManualClock(const std::function<std::shared_ptr<Provider>(const Clock&)>& open)
      : provider_(open(clock_)) {}
  Provider& provider() override { return *provider_; }
  void advance(Duration by) override { clock_.advance(by); }
  bool jump_wall(Duration by) override {
    clock_.jump_wall(by);
    return true;
  }

 private:
  ManualClock clock_;  // outlives the provider
  std::shared_ptr<Provider> provider_;
};

struct Chapter {
  std::string_view name;
  std::span<const ConformanceCase> (*cases)();
};

constexpr Chapter chapters[] = {
    {"starting", start_cases},
    {"messages", message_cases},
    {"order", order_cases},
    {"limits_of_a_fetch", limit_cases},
    {"commits", commit_cases},
    {"conditional_commits", conditional_cases},
    {"replay_tokens", replay_token_cases},
    {"executions", execution_cases},
    {"leases_of_instances", lease_cases},
    {"attempts", attempt_cases},
    {"activities", activity_cases},
    {"leases_of_activities", activity_lease_cases},
    {"cancellation", cancellation_cases},
    {"cancels_of_instances", cancel_cases},
    {"cancels_of_trees", cancel_descent_cases},
    {"incarnations", incarnation_cases},
    {"names_and_engine_versions", filter_cases},
    {"versions", version_cases},
    {"sessions", session_cases},
    {"tags", tag_cases},
    {"heartbeats", heartbeat_cases},
    {"time_limits_and_sweeps", overdue_cases},
    {"wall_clock", clock_cases},
    {"nodes_and_the_write_level", node_cases},
    {"custom_status", custom_status_cases},
    {"key_values", key_value_cases},
    {"push", push_cases},
    {"finding", finding_cases},
    {"counting", counting_cases},
    {"deleting", deletion_cases},
    {"pruning", pruning_cases},
    {"content", content_cases},
    {"many_threads", concurrency_cases},
};

std::vector<ConformanceCase> all_chapters() {
  std::vector<ConformanceCase> all;
  for (const Chapter& chapter : chapters) {
    for (ConformanceCase which : chapter.cases()) {
      which.chapter = chapter.name;
      all.push_back(which);
    }
  }
  return all;
}

}  // namespace

ProviderUnderTest with_manual_clock(std::string name,
                                    std::function<std::shared_ptr<Provider>(const Clock&)> open) {
  return {std::move(name), [open = std::move(open)] { return std::make_unique<StoreWithManualClock>(open); }};
}

void Check::fail(std::string_view message, Where where) {
  std::string_view file = where.file_name();
  if (const auto slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  failures_.push_back(std::string(file) + ":" + std::to_string(where.line()) + ": " + std::string(message));
}

std::span<const ConformanceCase> conformance_cases() {
  static const std::vector<ConformanceCase> all = all_chapters();
  return all;
}

std::vector<std::string> run_conformance_case(const ConformanceCase& which,
                                              const ProviderUnderTest& provider) {
  Check check;
  try {
    const auto store = provider.open();
    which.run(*store, check);
  } catch (const CaseStopped&) {
    // The reason is among the failures.
  } catch (const std::exception& error) {
    check.fail(std::string("the case ended with an exception: ") + error.what());
  }
  return check.failures();
}

}  // namespace duramen::inline v0::testing
