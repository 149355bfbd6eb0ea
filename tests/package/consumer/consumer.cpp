// What crosses the border between a program and the installed libraries, in both directions: calls, values,
// exceptions.
#include <duramen/duramen.hpp>

#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>

namespace dm = duramen;
using namespace std::chrono_literals;

struct Order {
  std::string id;
  int cents = 0;
};
DURAMEN_JSON(Order, id, cents)

inline constexpr dm::Activity<int(Order)> Charge{"Charge"};

/// A failure type of the program's own: the library must see the DurableError in it.
struct CardDeclined : dm::ApplicationError {
  CardDeclined() : ApplicationError("CardDeclined", "no money left", false) {}
};

int charge(dm::ActivityContext&, Order order) {
  if (order.cents > 1000) throw CardDeclined();
  return order.cents;
}

dm::Task<std::string> checkout(dm::OrchestrationContext& ctx, Order order) {
  const int paid = co_await ctx.schedule_activity(Charge, order);
  const Order gold{"gold", 990'00};
  std::string caught = "nothing";
  try {
    co_await ctx.schedule_activity(Charge, gold);
  } catch (const dm::ActivityError& error) {  // thrown inside the library
    caught = error.failure().type;
  }
  co_return std::to_string(paid) + " cents, then " + caught;
}

int main() {
  std::cout << "duramen " << dm::version() << "\n";
  try {
    dm::Store nowhere = dm::sqlite::open("/nowhere/at/all.db");
    return EXIT_FAILURE;
  } catch (const dm::BadResult&) {  // thrown inside the SQLite library
    std::cout << "no store there\n";
  }

  dm::Store store = dm::sqlite::open(":memory:");
  dm::Registry registry;
  registry.add(Charge, charge);
  registry.add("checkout", checkout);
  dm::Runtime runtime{store, registry};
  dm::Client client{store};
  client.start("order-1", "checkout", Order{"A-17", 420}).value();
  std::cout << client.wait("order-1", 30s).value().output_as<std::string>() << "\n";
}
