#include <duramen/orchestration.hpp>

duramen::Task<void> step(duramen::OrchestrationContext&) { co_return; }

duramen::Task<void> forgets(duramen::OrchestrationContext& ctx) {
  step(ctx);
  co_return;
}
