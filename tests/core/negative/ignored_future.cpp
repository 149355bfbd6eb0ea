#include <duramen/orchestration.hpp>

duramen::Task<void> forgets(duramen::OrchestrationContext& ctx) {
  ctx.schedule_activity("Charge", "order");
  co_return;
}
