// Text that is gone before it is encoded. A literal is of the same type, so it is refused as well.
#include <duramen/registry.hpp>

#include <string>

namespace dm = duramen;

void register_all(dm::Registry& registry) {
  registry.add("Greet", [](dm::ActivityContext&, std::string name) {  // refused
    const std::string greeting = "hello " + name;
    return greeting.c_str();
  });
  registry.add("Name", [](dm::ActivityContext&, std::string name) { return name.data(); });  // refused
}
