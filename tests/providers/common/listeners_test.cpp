// Every store notifies its listeners in one order.
#include "providers/common/listeners.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace duramen::providers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Recorder final : public ProviderListener {
 public:
  void turns_ready() override { calls.emplace_back("turns"); }
  void activities_ready() override { calls.emplace_back("activities"); }
  void leases_stolen(std::span<const StolenLease> stolen) override {
    calls.push_back("stolen " + std::to_string(stolen.size()));
  }
  void stolen_leases_pending() override { calls.emplace_back("pending"); }
  void instances_changed(std::span<const ChangedInstance> instances) override {
    calls.push_back("changed " + std::to_string(instances.size()));
  }
  void unknown_instances_changed() override { calls.emplace_back("unknown"); }

  std::vector<std::string> calls;
};

Notices everything() {
  Notices notices;
  notices.stolen = {{"node-a", {}, CancelReason::timeout}, {"node-b", {}, CancelReason::timeout}};
  notices.turns_ready = notices.activities_ready = true;
  notices.instances = {{"order-1", Status::running, "node-a"}};
  return notices;
}

TEST(Listeners, ReceiveCancellationsFirst) {
  Listeners listeners;
  Recorder recorder;
  const auto subscription = listeners.add("node-a", recorder);
  listeners.notify(everything());
  EXPECT_THAT(recorder.calls, ElementsAre("stolen 1", "turns", "activities", "changed 1"));
}

TEST(Listeners, ReceiveOnlyTheStolenLeasesOfTheirOwnNode) {
  Listeners listeners;
  Recorder client;
  const auto subscription = listeners.add({}, client);
  listeners.notify(everything());
  EXPECT_THAT(client.calls, ElementsAre("turns", "activities", "changed 1"));
}

TEST(Listeners, ReceiveNothingIfNothingChanged) {
  Listeners listeners;
  Recorder recorder;
  const auto subscription = listeners.add("node-a", recorder);
  listeners.notify({});
  EXPECT_THAT(recorder.calls, IsEmpty());
}

TEST(Listeners, ReceiveNothingAfterTheirSubscription) {
  Listeners listeners;
  Recorder recorder;
  auto subscription = listeners.add("node-a", recorder);
  subscription.reset();
  listeners.notify(everything());
  EXPECT_THAT(recorder.calls, IsEmpty());
}

TEST(Listeners, ASubscriptionMayOutliveThem) {
  Recorder recorder;
  std::unique_ptr<Subscription> subscription;
  {
    Listeners listeners;
    subscription = listeners.add("node-a", recorder);
  }
  subscription.reset();
  EXPECT_THAT(recorder.calls, IsEmpty());
}

}  // namespace
}  // namespace duramen::providers
