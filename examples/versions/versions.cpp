// New code next to running instances: an instance keeps the version it began with.
#include <duramen/duramen.hpp>

#include <iostream>
#include <memory>

namespace dm = duramen;
using namespace std::chrono_literals;

inline constexpr dm::Activity<std::string(std::string)> Do{"Do"};

std::string do_it(dm::ActivityContext&, std::string what) { return what; }

// [versions]
dm::Task<std::string> checkout_1_0(dm::OrchestrationContext& ctx) {
  co_await ctx.schedule_wait("paid");
  co_return co_await ctx.schedule_activity(Do, "shipped");
}

/// One more step. It does not match the history of an older instance, which would fail as nondeterminism. So
/// it is a version of its own, and the older code stays until its instances have ended.
dm::Task<std::string> checkout_1_1(dm::OrchestrationContext& ctx) {
  co_await ctx.schedule_wait("paid");
  const std::string insured = co_await ctx.schedule_activity(Do, "insured");
  const std::string shipped = co_await ctx.schedule_activity(Do, "shipped");
  co_return insured + " and " + shipped;
}

/// An orchestration that never ends changes its version when it continues as new.
dm::Task<std::string> subscription_1_0(dm::OrchestrationContext& ctx) {
  co_await ctx.schedule_wait("month over");
  co_return co_await ctx.continue_as_new("", "1.1.0");
}
dm::Task<std::string> subscription_1_1(dm::OrchestrationContext& ctx) {
  co_await ctx.schedule_wait("month over");
  co_return "a month under " + ctx.orchestration_version();
}
// [/versions]

// [registries]
dm::Registry release_1() {
  dm::Registry registry;
  registry.add(Do, do_it);
  registry.add("checkout", checkout_1_0, "1.0.0");
  registry.add("subscription", subscription_1_0, "1.0.0");
  return registry;
}

dm::Registry release_2() {
  dm::Registry registry = release_1();  // code with instances stays
  registry.add("checkout", checkout_1_1, "1.1.0");
  registry.add("subscription", subscription_1_1, "1.1.0");
  return registry;
}
// [/registries]

int main() {
  dm::Store store = dm::sqlite::open(":memory:");
  dm::Client client{store};
  const auto tell = [&](const std::string& id) {
    const std::string end = client.wait(id, 30s).value().output_as<std::string>();
    std::cout << id << " (" << client.get_instance(id).value().version << "): " << end << "\n";
  };

  // [rolling]
  // Both releases run for a while, on different nodes. Each takes the versions it has.
  auto old_node = std::make_unique<dm::Runtime>(store, release_1());
  client.start("before", "checkout").value();
  client.start("monthly", "subscription").value();
  dm::Runtime new_node{store, release_2()};
  client.start("after", "checkout", dm::StartOptions{.version = "1.1.0"}).value();
  // Its instances are taken over by the new node.
  old_node->shutdown();
  // [/rolling]

  for (const char* id : {"before", "after"}) client.raise_event(id, "paid", "").value();
  for (int month = 0; month < 2; ++month) client.raise_event("monthly", "month over", "").value();
  for (const char* id : {"before", "after", "monthly"}) tell(id);
}
