// A person decides, or the time runs out.
#include <duramen/duramen.hpp>

#include <iostream>

namespace dm = duramen;
using namespace std::chrono_literals;

struct Expense {
  std::string who;
  int cents = 0;
  int patience_ms = 0;
};
DURAMEN_JSON(Expense, who, cents, patience_ms)

struct Decision {
  bool yes = false;
  std::string by;
};
DURAMEN_JSON(Decision, yes, by)

inline constexpr dm::Activity<void(std::string)> Notify{"Notify"};

void notify(dm::ActivityContext&, std::string text) { std::cout << "  mail: " << text << std::endl; }

// [approval]
dm::Task<std::string> approval(dm::OrchestrationContext& ctx, Expense expense) {
  co_await ctx.schedule_activity(Notify, "please decide about " + expense.who);
  ctx.set_custom_status("waiting for a decision");

  // The first one wins. An event that arrived before this line is found: none is lost.
  auto answer = co_await ctx.select2(ctx.schedule_wait<Decision>("decision"),
                                     ctx.schedule_timer(std::chrono::milliseconds(expense.patience_ms)));
  if (answer.is_second()) {
    co_await ctx.schedule_activity(Notify, "nobody decided about " + expense.who);
    co_return "refused: nobody answered";
  }
  const Decision decision = answer.first();
  co_return (decision.yes ? "paid, by " : "refused by ") + decision.by;
}
// [/approval]

int main() {
  dm::Store store = dm::sqlite::open(":memory:");
  dm::Registry registry;
  registry.add(Notify, notify);
  registry.add("approval", approval);
  dm::Runtime runtime{store, registry};
  dm::Client client{store};
  const auto tell_end = [&](const std::string& id) {
    const auto end = client.wait(id, 30s).value();
    std::cout << id << ": " << end.output_as<std::string>() << std::endl;
  };

  client.start("ann", "approval", Expense{"Ann", 120'00, 60'000}).value();
  // [raise]
  client.wait_for_status_change("ann", 0, 30s).value();  // until it waits
  client.raise_event("ann", "decision", Decision{true, "the boss"}).value();
  // [/raise]
  tell_end("ann");

  client.start("ben", "approval", Expense{"Ben", 4'000'00, 300}).value();
  tell_end("ben");
}
