// A payment that the provider made and that the activity did not hear of.
#include "e2e/store_world.hpp"

#include <map>

namespace duramen::test {
namespace {

/// A payment provider as they are on the market: a key that it has seen gets the answer it got then.
class PaymentProvider {
 public:
  int charge(const std::string& key, int amount) {
    const std::lock_guard lock(mutex_);
    const auto [receipt, is_new] = receipts_.try_emplace(key, static_cast<int>(receipts_.size()) + 1);
    if (is_new) taken_ += amount;
    ++calls_;
    return receipt->second;
  }
  [[nodiscard]] int taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }
  [[nodiscard]] int calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int> receipts_;
  int taken_ = 0;
  int calls_ = 0;
};

class Payments : public ::testing::Test {
 protected:
  /// The activity charges; on its first `lost` calls the answer never arrives.
  void lose_answers(int lost) {
    world.registry.add("Charge", [this, lost](ActivityContext& ctx, int amount) -> ActivityTask<int> {
      const int receipt = provider.charge(ctx.idempotency_key(), amount);
      if (provider.calls() > lost) co_return receipt;
      co_await ctx.cancelled();
      throw std::runtime_error("interrupted");
    });
  }
  void pay_with(RetryPolicy policy) {
    world.registry.add("pay", [policy](OrchestrationContext& ctx, int amount) -> Task<int> {
      co_return co_await ctx.schedule_activity<int>("Charge", amount).with_retry(policy);
    });
  }
  PaymentProvider provider;
  StoreWorld world;
};

TEST_F(Payments, AChargeThatTimedOutAndIsRetriedTakesTheMoneyOnce) {
  lose_answers(2);
  pay_with(RetryPolicy().attempts(3).backoff(Backoff::fixed(1s)).attempt_timeout(5s));
  RuntimeOptions options;
  options.activity_lease = 1h;  // only the limit of the attempt passes
  options.session_idle = 1h;
  world.run(options);
  world.client.start("order-1", "pay", 30).value();
  EXPECT_EQ(world.end_of("order-1").output_as<int>(), 1);
  EXPECT_EQ(provider.calls(), 3);
  EXPECT_EQ(provider.taken(), 30);
}

TEST_F(Payments, TwoOrdersArePaidSeparately) {
  lose_answers(0);
  pay_with(RetryPolicy());
  world.run();
  world.client.start("order-1", "pay", 30).value();
  world.client.start("order-2", "pay", 12).value();
  world.end_of("order-1");
  world.end_of("order-2");
  EXPECT_EQ(provider.taken(), 42);
}

}  // namespace
}  // namespace duramen::test
