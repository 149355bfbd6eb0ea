#include <duramen/registry.hpp>

duramen::Task<void> looks(duramen::OrchestrationContext&, const std::string&) { co_return; }

void register_all(duramen::Registry& registry) { registry.add("looks", looks); }
