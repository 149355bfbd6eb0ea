// An account that never ends: it takes commands from a queue, one after the other, and continues as new from
// time to time, so that its history stays short.
#include <duramen/duramen.hpp>

#include <iostream>

namespace dm = duramen;
using namespace std::chrono_literals;

struct Command {
  std::string what;  // deposit, withdraw, close
  int cents = 0;
};
DURAMEN_JSON(Command, what, cents)

// [actor]
dm::Task<int> account(dm::OrchestrationContext& ctx, int cents) {
  constexpr int commands_per_execution = 3;  // some hundreds in a real program
  for (int i = 0; i < commands_per_execution; ++i) {
    const auto command = co_await ctx.dequeue_event<Command>("commands");
    if (command.what == "close") co_return cents;
    if (command.what == "deposit") cents += command.cents;
    if (command.what == "withdraw" && command.cents <= cents) cents -= command.cents;
    ctx.set_kv_value("balance", cents);  // stored together with the command
  }
  // A fresh history, with the balance as its input. Commands that are still queued are carried forward.
  co_return co_await ctx.continue_as_new(cents);
}
// [/actor]

int main() {
  dm::Store store = dm::sqlite::open(":memory:");
  dm::Registry registry;
  registry.add("account", account);
  dm::Runtime runtime{store, registry};
  dm::Client client{store};

  client.start("ann", "account", 0).value();
  // [send]
  const std::vector<Command> commands = {{"deposit", 100},  {"deposit", 50}, {"withdraw", 30},
                                         {"withdraw", 500}, {"deposit", 7},  {"deposit", 1},
                                         {"withdraw", 8},   {"close"}};
  for (std::size_t i = 0; i < commands.size(); ++i) {
    // With a message id, a command that is sent twice is taken once.
    const std::string message_id = "command-" + std::to_string(i);
    client.enqueue_event("ann", "commands", commands[i], message_id).value();
    client.enqueue_event("ann", "commands", commands[i], message_id).value();
  }
  // [/send]
  const int closed_with = client.wait("ann", 30s).value().output_as<int>();
  std::cout << "closed with " << closed_with << " cents\n";
  std::cout << "last seen balance: " << client.get_key_value<int>("ann", "balance").value().value()
            << " cents\n";
  std::cout << "executions: " << client.list_executions("ann").value().size() << "\n";
}
