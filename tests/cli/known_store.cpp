#include "cli/known_store.hpp"

#include "cli/known_code.hpp"
#include <duramen/client.hpp>
#include <duramen/runtime.hpp>

namespace duramen::test {

namespace {

using namespace std::chrono_literals;

RecordedInstance poisoned() {
  Failure failure;
  failure.kind = FailureKind::poison;
  failure.type = "TooManyAttempts";
  failure.message = "its turn was handed out 10 times without an end";
  const TimePoint at = system_clock().now() - 1h;
  return {"poisoned",
          {{ExecutionId{1},
            {{EventId{1},
              {},
              at,
              event::OrchestrationStarted{"Checkout", "1.0.0", Payload::json("3"), {}, {}, {}}},
             {EventId{2}, {}, at, event::OrchestrationFailed{failure}}}}}};
}

}  // namespace

void make_known_store(const Store& store) {
  Client client{store};
  {
    RuntimeOptions options;
    options.activity_threads = 1;
    Runtime runtime{store, known_code(), options};
    (void)client.start("order-1", "Checkout", 1).value();
    (void)client.start("order-2", "Checkout", 2).value();
    (void)client.start("waits", "Approval").value();
    (void)client.start("family", "Parent").value();
    (void)client.start("stopped", "Approval").value();
    (void)client.start("ticker", "Ticker", 1).value();
    (void)client.cancel("stopped", "changed her mind").value();
    for (const char* id : {"order-1", "order-2", "stopped", "ticker"}) (void)client.wait(id, 60s).value();
    // Waiting instances must have reached their wait.
    (void)client.wait_for_status_change("waits", 0, 60s).value();
    while (client.get_instance_tree("family").value().size() < 2 ||
           client.get_instance_tree("family").value().back().status != Status::running) {
    }
  }
  (void)client.start("nobody", "Nobody", std::string("hello")).value();
  (void)client.import_instance(poisoned()).value();
}

}  // namespace duramen::test
