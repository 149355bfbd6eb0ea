// Activities for special machines: a tag names their requirement, and a node lists the tags it takes.
#include <duramen/duramen.hpp>

#include <iostream>

namespace dm = duramen;
using namespace std::chrono_literals;

inline constexpr dm::Activity<std::string(std::string)> Resize{"Resize"};
inline constexpr dm::Activity<std::string(std::string)> Train{"Train"};

std::string resize(dm::ActivityContext& ctx, std::string picture) {
  return picture + " resized on " + ctx.node().value;
}
std::string train(dm::ActivityContext& ctx, std::string picture) {
  return picture + " learnt on " + ctx.node().value;
}

// [tag]
dm::Task<std::string> learn(dm::OrchestrationContext& ctx, std::string picture) {
  const std::string small = co_await ctx.schedule_activity(Resize, picture);
  // Only a node that takes this tag runs it. After an hour without one it fails, with kind `timeout`.
  co_return co_await ctx.schedule_activity(Train, small).with_tag("gpu").schedule_to_start(1h);
}
// [/tag]

int main() {
  dm::Store store = dm::sqlite::open(":memory:");
  dm::Registry registry;
  registry.add(Resize, resize);
  registry.add(Train, train);
  registry.add("learn", learn);

  // [nodes]
  dm::Runtime cheap{store, registry, {.node = "cheap", .tags = dm::TagFilter::default_only()}};
  dm::Runtime big{store, registry, {.node = "big", .tags = dm::TagFilter::only({"gpu"})}};
  // [/nodes]

  dm::Client client{store};
  client.start("cat", "learn", "a cat").value();
  std::cout << client.wait("cat", 30s).value().output_as<std::string>() << "\n";
}
