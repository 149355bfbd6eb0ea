#include "shop.hpp"

#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <stdexcept>

namespace shop {

using namespace std::chrono_literals;

const std::vector<Order>& orders() {
  static const std::vector<Order> all = {
      {.id = "order-01", .item = "a teapot", .cents = 24'90},
      {.id = "order-02", .item = "two cups", .cents = 13'80},
      {.id = costly_order, .item = "a tea garden", .cents = 4'900'00},
      {.id = "order-04", .item = "a tea strainer", .cents = 4'20},
      {.id = "order-05", .item = "a kettle", .cents = 39'00},
      {.id = "order-06", .item = "a sugar bowl", .cents = 11'30},
      {.id = unlucky_order, .item = "a samovar", .cents = 189'00},
      {.id = "order-08", .item = "six spoons", .cents = 17'40},
      {.id = "order-09", .item = "a milk jug", .cents = 8'90},
      {.id = regretted_order, .item = "a gold teapot", .cents = 990'00, .bank_asks = true},
      {.id = express_order, .item = "a tin of Darjeeling", .cents = 12'60, .express = true},
      {.id = "order-12", .item = "a tea cosy", .cents = 15'00},
  };
  return all;
}

std::string euros(int cents) {
  char text[32];
  std::snprintf(text, sizeof text, "%d.%02d EUR", cents / 100, cents % 100);
  return text;
}

// -- the orchestration --------------------------------------------------------------------------------------

namespace {

inline constexpr dm::Activity<std::string(Order)> Charge{"charge"};
inline constexpr dm::Activity<std::string(Order)> Reserve{"reserve"};
inline constexpr dm::Activity<std::string()> AskCourier{"courier"};
inline constexpr dm::Activity<std::string(std::string)> Ship{"ship"};

// [checkout]
/// One order, from money to parcel. If the process dies, the next one continues at the line that was reached:
/// the store has the result of each `co_await`.
dm::Task<std::string> checkout(dm::OrchestrationContext& ctx, Order order) {
  std::string story;
  if (order.needs_approval()) {
    // This may take days. The process may end and start again meanwhile.
    const std::string boss = co_await ctx.schedule_wait(approval_event);
    story = "approved by " + boss + ", ";
  }

  const std::string receipt = co_await ctx.schedule_activity(Charge, order);
  const std::string shelf = co_await ctx.schedule_activity(Reserve, order);

  std::string carrier = "post";
  if (order.express) {
    // The first answer wins. The other one is cancelled: a slow courier is asked to stop.
    auto answer = co_await ctx.select2(ctx.schedule_activity(AskCourier), ctx.schedule_timer(300ms));
    carrier = answer.is_first() ? answer.first() : "post, courier too slow";
  }

  const std::string parcel = co_await ctx.schedule_activity(Ship, carrier);
  co_return story + receipt + ", " + shelf + ", " + parcel;
}
// [/checkout]

}  // namespace

// -- the activities -----------------------------------------------------------------------------------------

std::string Shop::charge(const dm::ActivityContext& ctx, const Order& order) {
  work(ctx, order.bank_asks ? 1min : step_);
  const bool first = ledger_.act_once(ctx, euros(order.cents));

  // The worst moment to die: the money is taken, and no record of it exists. The next worker asks again with
  // the same idempotency key, and the bank recognises the repeat.
  if (first && order.id == unlucky_order) std::raise(SIGKILL);
  return "paid";
}

std::string Shop::reserve(const dm::ActivityContext& ctx, const Order& order) {
  work(ctx, step_);
  ledger_.act_once(ctx, order.item);
  return "packed";
}

std::string Shop::ship(const dm::ActivityContext& ctx, const std::string& carrier) {
  work(ctx, step_);
  ledger_.act_once(ctx, "by " + carrier);
  return "sent by " + carrier;
}

/// A coroutine, because it mostly waits: thousands of them share one thread.
dm::ActivityTask<std::string> Shop::ask_courier(dm::ActivityContext& ctx) {
  ledger_.write(ctx, What::began);
  const bool answered = co_await ctx.sleep(1min);
  if (!answered) give_up(ctx);
  co_return "courier";
}

/// Pretends to work, and stops when the result is no longer wanted.
void Shop::work(const dm::ActivityContext& ctx, std::chrono::milliseconds time) {
  ledger_.write(ctx, What::began);
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, ctx.stop_token(), time, [] { return false; });
  if (ctx.is_cancelled()) give_up(ctx);
}

void Shop::give_up(const dm::ActivityContext& ctx) {
  const auto reason = ctx.cancel_reason();
  ledger_.write(ctx, What::stopped, std::string(reason ? to_string(*reason) : to_string(ctx.stop_cause())));
  throw std::runtime_error("told to stop");  // dropped: no code waits for the result
}

dm::Registry Shop::registry() {
  dm::Registry registry;
  registry.add(checkout_name, checkout);
  registry.add(Charge, [this](dm::ActivityContext& ctx, Order order) { return charge(ctx, order); });
  registry.add(Reserve, [this](dm::ActivityContext& ctx, Order order) { return reserve(ctx, order); });
  registry.add(AskCourier, [this](dm::ActivityContext& ctx) { return ask_courier(ctx); });
  registry.add(Ship, [this](dm::ActivityContext& ctx, std::string carrier) { return ship(ctx, carrier); });
  return registry;
}

}  // namespace shop
