// Each marked line would read a value that refers to memory that is gone. The types differ, because a
// compiler reports an error of one type only once.
#include <duramen/client.hpp>
#include <duramen/json.hpp>
#include <duramen/registry.hpp>

#include <deque>
#include <list>
#include <span>

namespace dm = duramen;

// As inputs and results of handlers.
dm::Task<int> measure(dm::OrchestrationContext&, std::string_view what) {
  co_return static_cast<int>(what.size());
}
dm::Task<std::span<int>> split(dm::OrchestrationContext&) { co_return std::span<int>{}; }
void register_all(dm::Registry& registry) {
  registry.add("measure", measure);      // refused
  registry.add("split", split);          // refused
#ifndef DURAMEN_MUTANT_VIEWS_ARE_VALUES  // no codec reads these two, so they never compiled
  registry.add("Look", [](dm::ActivityContext&, const int* at) { return *at; });  // refused
#endif
  registry.add("Name", [](dm::ActivityContext&) -> std::wstring_view { return L""; });  // refused
}

// In handles.
constexpr dm::Activity<int(std::span<const int>)> Sum{"Sum"};                 // refused
constexpr dm::Orchestration<std::vector<std::string_view>()> Words{"words"};  // refused

// Values read by name, even inside other types.
dm::Task<void> reads(dm::OrchestrationContext& ctx) {
  co_await ctx.schedule_activity<std::optional<std::string_view>>("A", 1);       // refused
  co_await ctx.schedule_wait<std::pair<int, std::string_view>>("event");         // refused
  co_await ctx.dequeue_event<std::map<std::string, std::string_view>>("queue");  // refused
  (void)ctx.get_kv_value<std::tuple<int, std::string_view>>("key");              // refused
}
void resumes(const dm::ActivityContext& ctx, const dm::InstanceState& state) {
  (void)ctx.heartbeat_details<std::array<std::string_view, 2>>();  // refused
#ifndef DURAMEN_MUTANT_VIEWS_ARE_VALUES
  (void)state.output_as<std::variant<int, std::string_view>>();  // refused
#endif
  (void)state.output_as<std::list<std::pair<std::string_view, int>>>();  // refused
}

// In types of one's own.
struct Order {
  int cents = 0;
  std::deque<std::string> items;
  std::vector<std::vector<std::string_view>> names;
};
DURAMEN_JSON(Order, cents, items, names)  // refused
struct Basket {
  std::deque<std::list<std::string_view>> names;
};
DURAMEN_JSON(Basket, names)  // refused
