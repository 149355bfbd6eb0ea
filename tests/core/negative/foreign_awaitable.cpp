#include <duramen/orchestration.hpp>

#include <coroutine>

struct Socket {
  bool await_ready() { return true; }
  void await_suspend(std::coroutine_handle<>) {}
  int await_resume() { return 1; }
};

duramen::Task<void> reads(duramen::OrchestrationContext&) { co_await Socket{}; }
