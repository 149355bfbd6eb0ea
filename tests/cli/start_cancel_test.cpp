// The commands that act on instances: start, wait, cancel, raise, enqueue.
#include "cli/known_store.hpp"
#include <duramen/client.hpp>

#include <fstream>
#include <pwd.h>
#include <unistd.h>

namespace duramen::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;
using Json = nlohmann::json;

class StartAndCancel : public KnownStore {
 protected:
  /// The stored data of the newest message to the instance.
  Json status(const std::string& id) const { return json({"show", id})["instance"]["status"]; }
  /// While it lives, the program serves the store with the code of the known instances.
  std::unique_ptr<CliProcess> serve() const {
    auto server = std::make_unique<CliProcess>(
        on_store({"run", std::string(DURAMEN_MODULES) + "/known.so", "--log", "error"}));
    EXPECT_TRUE(server->wait_for_output("serves"));
    return server;
  }
};

TEST_P(StartAndCancel, StartPrintsTheIdAndIsRepeatable) {
  const CliResult first = run({"start", "Checkout", "--id", "order-7", "--input", "7"});
  EXPECT_EQ(first.exit, 0) << first.err;
  EXPECT_EQ(first.out, "order-7\n");
  const CliResult again = run({"start", "Checkout", "--id", "order-7", "--input", "7"});
  EXPECT_EQ(again.exit, 0);
  EXPECT_THAT(again.err, HasSubstr("started before"));
  EXPECT_EQ(json({"start", "Checkout", "--id", "order-7", "--input", "7"})["outcome"], "exists");
  const CliResult other = run({"start", "Checkout", "--id", "order-7", "--input", "8"});
  EXPECT_EQ(other.exit, 1);
  EXPECT_THAT(other.err, HasSubstr("another name or input"));
}

TEST_P(StartAndCancel, StartMakesUpAnId) {
  const CliResult result = run({"start", "Checkout", "--input", "7"});
  EXPECT_THAT(result.out, StartsWith("Checkout-"));
  EXPECT_EQ(run({"show", result.out.substr(0, result.out.size() - 1)}).exit, 0);
}

TEST_P(StartAndCancel, StartTakesPayloadsFromEverywhere) {
  std::ofstream(dir.file("input.json")) << "  {\"a\": [1, 2]}\n";
  ASSERT_EQ(run({"start", "X", "--id", "from-file", "--input", "@" + dir.file("input.json")}).exit, 0);
  ASSERT_EQ(run({"start", "X", "--id", "from-stdin", "--input", "-"}, {.input = "{\"b\":1}"}).exit, 0);
  ASSERT_EQ(run({"start", "X", "--id", "text", "--text", "hello there"}).exit, 0);
  ASSERT_EQ(run({"start", "X", "--id", "text-stdin", "--text", "-"}, {.input = "line\n"}).exit, 0);
  Client client{place->open()};
  const auto repeated = [&](const char* id, const Payload& input) {
    return client.start(id, "X", input).has_value();
  };
  EXPECT_TRUE(repeated("from-file", Payload::json("{\"a\": [1, 2]}")));
  EXPECT_TRUE(repeated("from-stdin", Payload::json("{\"b\":1}")));
  EXPECT_TRUE(repeated("text", Payload::text("hello there")));
  EXPECT_TRUE(repeated("text-stdin", Payload::text("line\n")));
  EXPECT_FALSE(repeated("text", Payload::text("other")));
}

TEST_P(StartAndCancel, StartReplacesAnEndedInstanceIfAsked) {
  EXPECT_EQ(run({"start", "Checkout", "--id", "order-1", "--input", "9"}).exit, 1);
  EXPECT_EQ(run({"start", "Checkout", "--id", "order-1", "--input", "9", "--replace"}).exit, 0);
  EXPECT_EQ(status("order-1"), "Pending");
}

TEST_P(StartAndCancel, StartAndWaitPrintsTheResult) {
  const auto server = serve();
  const CliResult good =
      run({"start", "Checkout", "--id", "order-7", "--input", "7", "--wait", "--timeout", "60s"});
  EXPECT_EQ(good.exit, 0) << good.err;
  EXPECT_EQ(good.out, "order-7\norder-7 Completed: \"receipt-7\"\n");
  const CliResult bad =
      run({"start", "Checkout", "--id", "order-8", "--input", "2", "--wait", "--timeout", "60s"});
  EXPECT_EQ(bad.exit, 1);
  EXPECT_THAT(bad.out, HasSubstr("card declined"));
}

TEST_P(StartAndCancel, WaitReportsHowInstancesEnded) {
  const CliResult both = run({"wait", "order-1", "ticker"});
  EXPECT_EQ(both.exit, 0);
  EXPECT_THAT(both.out, AllOf(HasSubstr("order-1 Completed"), HasSubstr("ticker Completed: 3")));
  EXPECT_EQ(run({"wait", "order-1", "order-2"}).exit, 1);
  EXPECT_EQ(json({"wait", "stopped"}, 1)["status"], "Cancelled");
  const CliResult late = run({"wait", "waits", "--timeout", "10ms"});
  EXPECT_EQ(late.exit, 5);
  EXPECT_THAT(late.err, HasSubstr("duramen explain waits"));
}

TEST_P(StartAndCancel, CancelAsksInstancesByName) {
  const CliResult result = run({"cancel", "waits", "family", "--reason", "closing time"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("asked 2 instances to end: waits, family"));
  const auto server = serve();
  const CliResult ended = run({"wait", "waits", "family", "family::sub::1.2", "--timeout", "60s"});
  EXPECT_EQ(ended.exit, 1);
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr("waits Cancelled: closing time"), HasSubstr("family::sub::1.2 Cancelled")));
}

TEST_P(StartAndCancel, ACancelWithoutAReasonShowsNone) {
  EXPECT_EQ(run({"cancel", "waits"}).exit, 0);
  const auto server = serve();
  EXPECT_EQ(run({"wait", "waits", "--timeout", "60s"}).out, "waits Cancelled\n");
}

TEST_P(StartAndCancel, ASecondCancelNamesTheFirst) {
  ASSERT_EQ(run({"cancel", "waits", "--by", "ann", "--reason", "closing time"}).exit, 0);
  const CliResult second = run({"cancel", "waits", "--by", "bob", "--reason", "too"});
  EXPECT_EQ(second.exit, 0);
  EXPECT_THAT(second.out, HasSubstr("waits was already asked to stop by ann: closing time"));
  const auto third = json({"cancel", "waits"});
  EXPECT_EQ(third["already_requested"], Json::array({"waits"}));
  EXPECT_EQ(third["requested"].size(), 0u);
  EXPECT_EQ(json({"cancel", "--name", "Approval", "--status", "open", "--yes"})["already_requested"],
            Json::array({"waits"}));
}

TEST_P(StartAndCancel, AQueuedCancelIsShownWithItsRequesterAndReason) {
  ASSERT_EQ(run({"cancel", "waits", "--by", "ann", "--reason", "closing time"}).exit, 0);
  EXPECT_THAT(run({"show", "waits"}).out, AllOf(HasSubstr("graceful, and no turn has taken the request yet"),
                                                HasSubstr("ann"), HasSubstr("closing time")));
  EXPECT_EQ(json({"show", "waits"})["cancelled_by"], "ann");
  EXPECT_EQ(json({"show", "waits"})["cancel_reason"], "closing time");
  EXPECT_THAT(run({"explain", "waits"}).out, HasSubstr("It was asked to stop by ann"));
  EXPECT_EQ(json({"explain", "waits"})["queued_cancel"]["reason"], "closing time");
}

TEST_P(StartAndCancel, TheRequesterOfAStartIsShownAfterAPrune) {
  const auto server = serve();
  ASSERT_EQ(
      run({"start", "Ticker", "--id", "t", "--input", "1", "--by", "ann", "--wait", "--timeout", "60s"}).exit,
      0);
  ASSERT_EQ(run({"prune", "t", "--keep-last", "1", "--yes"}).exit, 0);
  EXPECT_EQ(json({"show", "t"})["executions"].size(), 1u);
  EXPECT_EQ(json({"show", "t"})["started_by"], "ann");
}

TEST_P(StartAndCancel, CancelReportsEndedAndUnknownInstances) {
  const CliResult ended = run({"cancel", "order-1"});
  EXPECT_EQ(ended.exit, 1);
  EXPECT_THAT(ended.out, HasSubstr("had ended before: order-1"));
  const CliResult missing = run({"cancel", "waits", "no-such"});
  EXPECT_EQ(missing.exit, 3);
  EXPECT_THAT(missing.out,
              AllOf(HasSubstr("asked 1 instance to end"), HasSubstr("there is no instance: no-such")));
}

TEST_P(StartAndCancel, CancelByFilterAsksFirst) {
  const CliResult refused = run({"cancel", "--name", "Approval"});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("Cancel 1 instance (waits)?"), HasSubstr("--yes")));
  const auto plan = json({"cancel", "--all", "--dry-run"});
  EXPECT_EQ(plan["dry_run"], true);
  EXPECT_EQ(plan["requested"].size(), 0u);
  EXPECT_EQ(plan["matched"].size(), 4u);
  EXPECT_EQ(json({"explain", "waits"})["cancel_request"], nullptr);
  const auto done = json({"cancel", "--all", "--yes", "--reason", "all of you"});
  EXPECT_EQ(done["requested"].size(), 4u);
  EXPECT_EQ(json({"cancel", "--status", "pending", "--limit", "1", "--dry-run"})["matched"],
            Json::array({"nobody"}));
}

TEST_P(StartAndCancel, CancelWithoutInstancesIsRefused) {
  const CliResult nobody = run({"cancel", "--reason", "x"});
  EXPECT_EQ(nobody.exit, 2);
  EXPECT_THAT(nobody.err, HasSubstr("which instances?"));
  EXPECT_EQ(run({"cancel", "waits", "--all"}).exit, 2);
  EXPECT_EQ(run({"cancel", "waits", "--mode", "gently"}).exit, 2);
}

TEST_P(StartAndCancel, RaiseReachesAWaitingInstance) {
  const CliResult raised = run({"raise", "waits", "approved", "--text", "Ada"});
  EXPECT_EQ(raised.exit, 0) << raised.err;
  EXPECT_THAT(raised.out, HasSubstr("the event approved is on its way to waits"));
  const auto server = serve();
  EXPECT_THAT(run({"wait", "waits", "--timeout", "60s"}).out, HasSubstr("Completed: \"Ada\""));
}

TEST_P(StartAndCancel, RaiseReportsTheOutcomeOfTheEvent) {
  EXPECT_EQ(json({"raise", "later", "go"})["outcome"], "parked");
  EXPECT_EQ(json({"raise", "waits", "x", "--message-id", "m"})["outcome"], "enqueued");
  EXPECT_EQ(json({"raise", "waits", "x", "--message-id", "m"})["outcome"], "duplicate");
  const CliResult late = run({"raise", "order-1", "go"});
  EXPECT_EQ(late.exit, 1);
  EXPECT_THAT(late.out, HasSubstr("has ended"));
}

TEST_P(StartAndCancel, EnqueueSendsToAQueue) {
  const CliResult sent = run({"enqueue", "waits", "jobs", "--data", "{\"n\":1}"});
  EXPECT_EQ(sent.exit, 0) << sent.err;
  EXPECT_THAT(sent.out, HasSubstr("the queue jobs"));
  EXPECT_THAT(run({"show", "waits"}).out, HasSubstr("QueueMessage"));
  EXPECT_EQ(json({"enqueue", "later", "jobs", "--data", "1"})["outcome"], "parked");
}

TEST_P(StartAndCancel, TheRequesterIsStoredAndShown) {
  ASSERT_EQ(run({"start", "Approval", "--id", "mine", "--by", "alice"}).exit, 0);
  ASSERT_EQ(
      run({"raise", "waits", "approved", "--text", "Ada"}, {.environment = {{"DURAMEN_BY", "the shop"}}})
          .exit,
      0);
  const auto server = serve();
  ASSERT_EQ(run({"wait", "waits", "--timeout", "60s"}).exit, 0);
  EXPECT_THAT(run({"history", "waits"}).out, HasSubstr("approved with \"Ada\", by the shop"));
  ASSERT_EQ(run({"cancel", "mine", "--reason", "too late", "--by", "bob"}).exit, 0);
  ASSERT_EQ(run({"wait", "mine", "--timeout", "60s"}).exit, 1);

  EXPECT_THAT(run({"history", "mine"}).out, AllOf(HasSubstr("by alice"), HasSubstr("by bob: too late")));
  EXPECT_THAT(run({"explain", "mine"}).out, HasSubstr("It was asked to stop by bob"));
  EXPECT_EQ(json({"explain", "mine"})["cancel_request"]["requested_by"], "bob");
  const std::string shown = run({"show", "mine"}).out;
  EXPECT_THAT(shown, AllOf(HasSubstr("Started by"), HasSubstr("alice"), HasSubstr("Cancelled by")));
  const Json document = json({"show", "mine"});
  EXPECT_EQ(document["started_by"], "alice");
  EXPECT_EQ(document["cancelled_by"], "bob");
  EXPECT_TRUE(document["instance"].contains("cancel_asked"));
  EXPECT_TRUE(document["instance"].contains("ended_at"));
}

TEST_P(StartAndCancel, WithoutANameTheRequesterIsTheUser) {
  ASSERT_EQ(run({"start", "Checkout", "--id", "mine", "--input", "7"}).exit, 0);
  ASSERT_EQ(run({"start", "Checkout", "--id", "anyone's", "--input", "7", "--by", ""}).exit, 0);
  const auto server = serve();
  ASSERT_EQ(run({"wait", "mine", "anyone's", "--timeout", "60s"}).exit, 0);
  const passwd* const user = ::getpwuid(::getuid());
  if (user != nullptr && ::getlogin() == nullptr) {
    EXPECT_EQ(json({"show", "mine"})["started_by"], user->pw_name);
  }
  EXPECT_EQ(json({"show", "anyone's"})["started_by"], nullptr);
  EXPECT_EQ(run({"start", "Checkout", "--by", "\xff"}).exit, 2);
}

TEST_P(StartAndCancel, HistoryShowsTheAttemptThatEndedAnActivity) {
  const auto server = serve();
  ASSERT_EQ(run({"start", "Checkout", "--id", "mine", "--input", "7", "--wait", "--timeout", "60s"}).exit, 0);
  EXPECT_THAT(run({"history", "mine"}).out, HasSubstr("Charge returned \"receipt-7\" (attempt 1 on "));
}

DURAMEN_ON_EVERY_STORE(StartAndCancel);

}  // namespace
}  // namespace duramen::test
