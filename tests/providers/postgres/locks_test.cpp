// Calls that need the same locks ask for them in the same order: nobody is refused because two waited for
// each other.
#include "store.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace duramen::test {
namespace {

using PostgresLocks = OnPostgres;

TEST_F(PostgresLocks, AStartThatMayReplaceAndAMessageThatWaitsForItsInstanceDoNotWaitForEachOther) {
  const auto store = open();
  start(*store, "there");
  std::atomic<bool> done{false};
  std::jthread starter([&] {
    while (!done) {
      StartRequest again = start_of("there");
      again.reuse = IdReuse::replace_when_final;
      const auto outcome = store->start_instances({&again, 1});
      EXPECT_TRUE(outcome) << outcome.error().describe();
    }
  });
  for (int i = 0; i < 300; ++i) {
    const OutboundMessage messages[] = {
        {InstanceId("not yet " + std::to_string(i)), work::QueueMessage{"q", Payload::text("x")}},
        {"there", work::QueueMessage{"q", Payload::text("x")}}};
    const auto outcome = store->enqueue_for_orchestrator(messages);
    EXPECT_TRUE(outcome) << outcome.error().describe();
  }
  done = true;
}

}  // namespace
}  // namespace duramen::test
