// The code under test: two reminders, a week apart, until the payment.
#pragma once

#include <duramen/orchestration.hpp>

#include <string>

inline constexpr duramen::Activity<void(std::string)> Mail{"Mail"};

inline duramen::Task<std::string> invoice(duramen::OrchestrationContext& ctx, std::string customer) {
  for (int reminder = 1; reminder <= 2; ++reminder) {
    auto first = co_await ctx.select2(ctx.schedule_wait("paid"), ctx.schedule_timer(std::chrono::days{7}));
    if (first.is_first()) co_return "paid after " + std::to_string(reminder - 1) + " reminders";
    co_await ctx.schedule_activity(Mail, "reminder " + std::to_string(reminder) + " to " + customer);
  }
  co_return "to the lawyer";
}
