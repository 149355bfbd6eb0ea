// Names with types: a wrong type does not compile.
#include "orders.hpp"
#include <duramen/duramen.hpp>

#include <iostream>

namespace dm = duramen;
using namespace std::chrono_literals;

// [worker]
Receipt charge(dm::ActivityContext&, Order order) { return {order.id, "R-" + std::to_string(order.cents)}; }

dm::Task<Receipt> checkout(dm::OrchestrationContext& ctx, Order order) {
  if (order.cents <= 0) throw dm::ApplicationError("BadOrder", order.id + " costs nothing");
  // Returns a Receipt. An argument other than an Order does not compile.
  co_return co_await ctx.schedule_activity(Charge, order);
}

dm::Registry worker() {
  dm::Registry registry;
  // A function with other types does not compile.
  registry.add(Charge, charge);
  registry.add(Checkout, checkout);
  return registry;
}
// [/worker]

// [caller]
void order(dm::Client& client, const Order& order) {
  client.start(order.id, Checkout, order).value();
  const dm::Outcome<Receipt> end = client.wait(order.id, Checkout, 30s).value();
  if (end) {
    std::cout << end.value().order << ": " << end.value().number << "\n";
  } else {
    std::cout << order.id << ": " << end.failure()->type << ", " << end.failure()->message << "\n";
  }
}
// [/caller]

int main() {
  dm::Store store = dm::sqlite::open(":memory:");
  dm::Runtime runtime{store, worker()};
  dm::Client client{store};
  order(client, {"A-17", 4200});
  order(client, {"A-18", 0});
}
