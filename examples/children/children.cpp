// An orchestration made of orchestrations.
#include <duramen/duramen.hpp>

#include <iostream>

namespace dm = duramen;
using namespace std::chrono_literals;

struct Parcel {
  std::string to;
  std::vector<std::string> items;
};
DURAMEN_JSON(Parcel, to, items)

inline constexpr dm::Activity<std::string(std::string)> Pack{"Pack"};
inline constexpr dm::Orchestration<std::string(Parcel)> SendParcel{"send_parcel"};
inline constexpr dm::Orchestration<std::vector<std::string>(std::vector<Parcel>)> Dispatch{"dispatch"};

std::string pack(dm::ActivityContext&, std::string item) { return "[" + item + "]"; }

// [child]
dm::Task<std::string> send_parcel(dm::OrchestrationContext& ctx, Parcel parcel) {
  std::string content;
  for (const std::string& item : parcel.items) {
    const std::string packed = co_await ctx.schedule_activity(Pack, item);
    content += packed;
  }
  if (parcel.to.empty()) throw std::runtime_error("nobody to send " + content + " to");
  co_return content + " to " + parcel.to;
}
// [/child]

// [parent]
/// One child for each parcel, all at once. Each child has its own history, so histories do not grow with the
/// number of parcels. A child is cancelled with its parent, and its failure reaches the parent as a
/// SubOrchestrationError.
dm::Task<std::vector<std::string>> dispatch(dm::OrchestrationContext& ctx, std::vector<Parcel> parcels) {
  std::vector<dm::DurableFuture<dm::Result<std::string, dm::Failure>>> sent;
  for (std::size_t i = 0; i < parcels.size(); ++i) {
    auto options = dm::ChildOptions().id(ctx.instance_id().value + "/parcel-" + std::to_string(i + 1));
    sent.push_back(ctx.schedule_sub_orchestration(SendParcel, parcels[i], options).as_result());
  }
  std::vector<std::string> report;
  for (const auto& parcel : co_await ctx.join(std::move(sent))) {
    report.push_back(parcel ? *parcel : "failed: " + parcel.error().message);
  }
  co_return report;
}
// [/parent]

int main() {
  dm::Store store = dm::sqlite::open(":memory:");
  dm::Registry registry;
  registry.add(Pack, pack);
  registry.add(SendParcel, send_parcel);
  registry.add(Dispatch, dispatch);
  dm::Runtime runtime{store, registry};
  dm::Client client{store};

  const std::vector<Parcel> parcels = {{"Ann", {"teapot", "cup"}}, {"", {"kettle"}}, {"Ben", {"spoon"}}};
  client.start("monday", Dispatch, parcels).value();
  const auto report = client.wait("monday", Dispatch, 30s).value();
  for (const std::string& line : report.value()) std::cout << line << "\n";

  std::cout << "the tree:\n";
  // [tree]
  for (const dm::InstanceInfo& info : client.get_instance_tree("monday").value()) {
    std::cout << (info.parent ? "  " : "") << info.instance.value << " " << to_string(info.status) << "\n";
  }
  // [/tree]
}
