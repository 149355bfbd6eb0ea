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
  ManualClock clock_;  // before the provider, so that it outlives it
  std::shared_ptr<Provider> provider_;
};

std::vector<ConformanceCase> gather() {
  std::vector<ConformanceCase> all;
  for (auto chapter : {start_cases,
                       message_cases,
                       commit_cases,
                       conditional_cases,
                       lease_cases,
                       attempt_cases,
                       work_cases,
                       cancellation_cases,
                       incarnation_cases,
                       filter_cases,
                       custom_status_cases,
                       key_value_cases,
                       session_cases,
                       tag_cases,
                       heartbeat_cases,
                       overdue_cases,
                       push_cases,
                       content_cases,
                       counting_cases,
                       deletion_cases,
                       finding_cases,
                       pruning_cases,
                       custom_status_contract_cases,
                       execution_cases,
                       key_value_contract_cases,
                       version_cases,
                       work_lease_cases,
                       concurrency_cases}) {
    const auto cases = chapter();
    all.insert(all.end(), cases.begin(), cases.end());
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
  static const std::vector<ConformanceCase> all = gather();
  return all;
}

std::vector<std::string> run_conformance_case(const ConformanceCase& which,
                                              const ProviderUnderTest& provider) {
  Check check;
  try {
    const auto store = provider.open();
    which.run(*store, check);
  } catch (const CaseStopped&) {
    // What stopped it is among the failures.
  } catch (const std::exception& error) {
    check.fail(std::string("the case ended with an exception: ") + error.what());
  }
  return check.failures();
}

}  // namespace duramen::inline v0::testing
