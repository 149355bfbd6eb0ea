// Faults come when they are due, and only the caller notices.
#include <duramen/testing/faulty_provider.hpp>

#include <duramen/testing/manual_clock.hpp>
#include <duramen/testing/memory_provider.hpp>

#include <gtest/gtest.h>

namespace duramen::testing {

namespace {

StartRequest request(const char* id) {
  StartRequest request;
  request.instance = id;
  request.start.orchestration = "nothing";
  return request;
}

class FaultyProviderTest : public ::testing::Test {
 protected:
  ManualClock clock;
  std::shared_ptr<MemoryProvider> inner = std::make_shared<MemoryProvider>(clock);
};

TEST_F(FaultyProviderTest, AnErrorLeavesTheStoreUntouched) {
  FaultyProvider faulty(inner, single_fault("start_instances", 1, Fault::error));
  const StartRequest start = request("a");
  const auto answer = faulty.start_instances({&start, 1});
  ASSERT_FALSE(answer);
  EXPECT_TRUE(answer.error().retryable);
  EXPECT_FALSE(inner->get_instance("a").value());
  EXPECT_EQ(faulty.start_instances({&start, 1}).value().front(), StartOutcome::created);
}

TEST_F(FaultyProviderTest, ALostAnswerHidesACallThatWasMade) {
  FaultyProvider faulty(inner, single_fault("start_instances", 1, Fault::lost_answer));
  const StartRequest start = request("a");
  ASSERT_FALSE(faulty.start_instances({&start, 1}));
  EXPECT_TRUE(inner->get_instance("a").value());
  EXPECT_EQ(faulty.start_instances({&start, 1}).value().front(), StartOutcome::exists);
  EXPECT_EQ(faulty.faults(), 1u);
}

TEST_F(FaultyProviderTest, TheSameSeedGivesTheSameFaults) {
  const auto fates = [this](std::uint64_t seed) {
    FaultyProvider faulty(inner, random_faults(seed, 0.3));
    std::string fates;
    for (int i = 0; i < 200; ++i) fates += faulty.get_instance("a") ? '.' : 'x';
    return fates;
  };
  EXPECT_EQ(fates(1), fates(1));
  EXPECT_NE(fates(1), fates(2));
  EXPECT_NE(fates(1).find('x'), std::string::npos);
  EXPECT_NE(fates(1).find('.'), std::string::npos);
}

TEST_F(FaultyProviderTest, PushPassesThrough) {
  struct Listener final : ProviderListener {
    int orchestrator_work = 0;
    void turns_ready() override { ++orchestrator_work; }
    void activities_ready() override {}
    void leases_stolen(std::span<const StolenLease>) override {}
    void stolen_leases_pending() override {}
    void instances_changed(std::span<const ChangedInstance>) override {}
    void unknown_instances_changed() override {}
  } listener;
  FaultyProvider faulty(inner, random_faults(1, 1.0));
  const auto subscription = faulty.subscribe("node", listener);
  const StartRequest start = request("a");
  ASSERT_TRUE(inner->start_instances({&start, 1}));
  EXPECT_EQ(listener.orchestrator_work, 1);
}

}  // namespace
}  // namespace duramen::testing
