// The smallest durable program: hello, a wait, and goodbye, even if the process dies meanwhile.
//
// README.md shows the code between the two marks below; a test compares them.

// [readme]
#include <duramen/duramen.hpp>

#include <iostream>
#include <unistd.h>

namespace dm = duramen;
using namespace std::chrono_literals;

// An activity touches the world. It is an ordinary function, run on a thread.
inline constexpr dm::Activity<int(std::string)> Say{"Say"};

int say(dm::ActivityContext&, std::string words) {
  std::cout << words << std::endl;
  return getpid();
}

// An orchestration decides what happens next. It is a coroutine whose progress is kept in the store.
dm::Task<std::string> hello(dm::OrchestrationContext& ctx, std::string name) {
  int first = co_await ctx.schedule_activity(Say, "Hello, " + name + "!");
  co_await ctx.schedule_timer(5s);
  int second = co_await ctx.schedule_activity(Say, "Goodbye, " + name + "!");
  co_return "hello from process " + std::to_string(first) + ", goodbye from " + std::to_string(second);
}

int main() {
  dm::Store store = dm::sqlite::open("hello.db");

  dm::Registry registry;
  registry.add(Say, say);
  registry.add("hello", hello);
  dm::Runtime runtime{store, registry};

  dm::Client client{store};
  client.start("hello-1", "hello", "world").value();
  dm::InstanceState end = client.wait("hello-1", 1min).value();
  std::cout << end.output_as<std::string>() << std::endl;
}
// [/readme]
