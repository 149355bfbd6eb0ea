// The shop: orders and their handling.
#pragma once

#include "ledger.hpp"
#include <duramen/duramen.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace shop {

namespace dm = duramen;

struct Order {
  std::string id;  ///< also the id of the instance that handles it
  std::string item;
  int cents = 0;
  bool express = false;    ///< by courier, if one answers in time
  bool bank_asks = false;  ///< the customer must confirm first

  /// An order of this price needs an approval.
  [[nodiscard]] bool needs_approval() const { return cents >= 1'000'00; }
};
DURAMEN_JSON(Order, id, item, cents, express, bank_asks)

/// The dozen orders of the demonstration.
[[nodiscard]] const std::vector<Order>& orders();

inline const std::string costly_order = "order-03";     ///< waits for the boss
inline const std::string express_order = "order-11";    ///< its courier does not answer in time
inline const std::string regretted_order = "order-10";  ///< cancelled by its customer
inline const std::string unlucky_order = "order-07";    ///< the worker dies after its payment

/// The name under which an order is started; its input is an Order.
inline const std::string checkout_name = "checkout";
/// The event of an approval; its data is the name of the approver.
inline const std::string approval_event = "approval";

/// "24.90 EUR".
[[nodiscard]] std::string euros(int cents);

/// The activities and their dependencies. Must outlive every runtime with its registry.
class Shop {
 public:
  /// `step` is the duration of an activity.
  Shop(Ledger ledger, std::chrono::milliseconds step) : ledger_(std::move(ledger)), step_(step) {}

  [[nodiscard]] dm::Registry registry();

 private:
  std::string charge(const dm::ActivityContext& ctx, const Order& order);
  std::string reserve(const dm::ActivityContext& ctx, const Order& order);
  dm::ActivityTask<std::string> ask_courier(dm::ActivityContext& ctx);
  std::string ship(const dm::ActivityContext& ctx, const std::string& carrier);

  void work(const dm::ActivityContext& ctx, std::chrono::milliseconds time);
  [[noreturn]] void give_up(const dm::ActivityContext& ctx);

  Ledger ledger_;
  std::chrono::milliseconds step_;
};

}  // namespace shop
