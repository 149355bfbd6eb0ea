// The control: what the other files get wrong, done right.
#include <duramen/json.hpp>
#include <duramen/registry.hpp>

#include <chrono>
#include <deque>
#include <map>
#include <string_view>

namespace dm = duramen;

constexpr dm::Activity<int(std::string)> Measure{"Measure"};

dm::Task<int> measure(dm::OrchestrationContext& ctx, std::string what) {
  co_await ctx.schedule_timer(std::chrono::seconds(1));
  int size = co_await ctx.schedule_activity(Measure, what);
  co_return size;
}

// Text in any shape is taken where it is sent: it is copied there.
dm::Task<void> sends(dm::OrchestrationContext& ctx) {
  const std::string_view text = "text";
  const char* const also_text = "text";
  co_await ctx.schedule_activity(Measure, "text");
  co_await ctx.schedule_activity<int>("Measure", text);
  co_await ctx.schedule_activity<int>("Measure", also_text);
  ctx.set_kv_value("key", text);
}

// A pointer can be read if it has its own Codec.
struct Country {};
inline const Country here;
template <>
struct duramen::Codec<const Country*> {
  static Payload encode(const Country* const& /*country*/) { return Payload::text("here"); }
  static const Country* decode(const Payload& /*payload*/) { return &here; }
};
inline constexpr dm::Activity<const Country*(std::vector<const Country*>)> Best{"Best"};

struct Order {
  std::string id;
  std::deque<std::string> lines;
  std::map<std::string, nlohmann::json> more;
};
DURAMEN_JSON(Order, id, lines, more)

void register_all(dm::Registry& registry) {
  registry.add("measure", measure);
  registry.add("sends", sends);
  registry.add(Measure, [](dm::ActivityContext&, std::string what) { return static_cast<int>(what.size()); });
  registry.add("Answer", [](dm::ActivityContext&) { return std::string("a literal"); });
  registry.add("Take", [](dm::ActivityContext&, Order order) { return order.lines.size(); });
  registry.add("Any", [](dm::ActivityContext&, nlohmann::json any) { return any; });
}
