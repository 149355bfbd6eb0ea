#include <duramen/registry.hpp>

constexpr duramen::Activity<int(std::string)> Measure{"Measure"};

void register_all(duramen::Registry& registry) {
  registry.add(Measure, [](duramen::ActivityContext&, std::string what) { return what; });
}
