// The interface of callers and workers: names with their types. Both include it, and the compiler checks
// both.
#pragma once

#include <duramen/json.hpp>
#include <duramen/orchestration.hpp>

#include <string>

struct Order {
  std::string id;
  int cents = 0;
};
DURAMEN_JSON(Order, id, cents)

struct Receipt {
  std::string order;
  std::string number;
};
DURAMEN_JSON(Receipt, order, number)

// [handles]
inline constexpr duramen::Activity<Receipt(Order)> Charge{"Charge"};
inline constexpr duramen::Orchestration<Receipt(Order)> Checkout{"checkout"};
// [/handles]
