// A module that cannot register its code.
#include <duramen/module.hpp>

#include <stdexcept>

DURAMEN_MODULE(registry) {
  (void)registry;
  throw std::runtime_error("no licence");
}
