// Work that stays with its data: two nodes, and sessions that stay on one of them.
#include <duramen/duramen.hpp>

#include <iostream>
#include <map>
#include <mutex>

namespace dm = duramen;
using namespace std::chrono_literals;

inline constexpr dm::Activity<std::string(std::string)> Load{"Load"};
inline constexpr dm::Activity<std::string(std::string)> Render{"Render"};

/// The memory of a node, lost when it dies.
class Node {
 public:
  [[nodiscard]] dm::Registry registry();

 private:
  std::string load(const dm::ActivityContext& ctx, const std::string& film) {
    const std::lock_guard lock(mutex_);
    cache_[film] = "film " + film;
    return ctx.node().value;
  }
  std::string render(const dm::ActivityContext& ctx, const std::string& film) {
    const std::lock_guard lock(mutex_);
    return cache_.contains(film) ? ctx.node().value : "nowhere";
  }

  std::mutex mutex_;
  std::map<std::string, std::string> cache_;
};

// [session]
/// All activities of one session run on the node that took the first one, while that node lives.
dm::Task<bool> make_film(dm::OrchestrationContext& ctx, std::string film) {
  const std::string loaded_on = co_await ctx.schedule_activity(Load, film).on_session(film);
  for (int scene = 1; scene <= 3; ++scene) {
    const std::string rendered_on = co_await ctx.schedule_activity(Render, film).on_session(film);
    if (rendered_on != loaded_on) co_return false;  // that node is gone: load the film again
  }
  co_return true;
}
// [/session]

dm::Registry Node::registry() {
  dm::Registry registry;
  registry.add(Load, [this](dm::ActivityContext& ctx, std::string film) { return load(ctx, film); });
  registry.add(Render, [this](dm::ActivityContext& ctx, std::string film) { return render(ctx, film); });
  registry.add("make_film", make_film);
  return registry;
}

int main() {
  dm::Store store = dm::sqlite::open(":memory:");
  Node first_node;
  Node second_node;
  dm::Runtime first{store, first_node.registry(), {.node = "first"}};
  dm::Runtime second{store, second_node.registry(), {.node = "second"}};
  dm::Client client{store};

  int together = 0;
  for (int i = 1; i <= 6; ++i)
    client.start("film-" + std::to_string(i), "make_film", "film-" + std::to_string(i)).value();
  for (int i = 1; i <= 6; ++i) {
    const auto end = client.wait_for<bool>("film-" + std::to_string(i), 30s).value();
    if (end.value()) ++together;
  }
  std::cout << together << " of 6 films were rendered where they had been loaded\n";
}
