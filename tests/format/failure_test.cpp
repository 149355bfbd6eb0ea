// Failures: from exceptions, in words, and through JSON.

#include <duramen/failure.hpp>

#include "base/utf8.hpp"
#include "format/failure_json.hpp"
#include "format/samples.hpp"
#include <duramen/detail/json_value.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace duramen {
namespace {

struct CardDeclined : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class Throw>
Failure failure_of(Throw thrower) {
  try {
    thrower();
  } catch (...) {
    return failure_from(std::current_exception());
  }
  return {};
}

std::string json_of(const Failure& failure, std::string_view thrower = "ActivityFailed") {
  std::string out;
  base::JsonWriter json{out};
  format::write_failure(json, failure, thrower);
  return out;
}

Failure read(std::string_view text) {
  const detail::JsonDocument document{text};
  EXPECT_EQ(document.error(), "");
  Failure failure;
  std::string problem;
  format::read_failure(document.root(), failure, problem);
  EXPECT_EQ(problem, "") << text;
  return failure;
}

TEST(FailureFrom, AnExceptionKeepsItsTypeAndMessage) {
  const Failure failure = failure_of([] { throw std::out_of_range{"index 9"}; });
  EXPECT_EQ(failure.kind, FailureKind::application);
  EXPECT_EQ(failure.type, "std::out_of_range");
  EXPECT_EQ(failure.message, "index 9");
  EXPECT_TRUE(failure.retryable);
  EXPECT_EQ(failure_of([] { throw CardDeclined{"no"}; }).type,
            "duramen::(anonymous namespace)::CardDeclined");
}

TEST(FailureFrom, ADurableErrorKeepsItsStructure) {
  for (Failure failure : samples::failures()) {
    const Failure stored = failure_of([&] { throw ActivityError{failure}; });
    if (!failure.details.empty() && !detail::JsonDocument(failure.details).error().empty()) {
      std::string text;
      detail::append_json_string(text, std::exchange(failure.details, {}));
      failure.details = text;
    }
    EXPECT_EQ(stored, failure);
  }
  const Failure declined =
      failure_of([] { throw ApplicationError{"Declined", "no funds", false, R"({"code":51})"}; });
  EXPECT_EQ(declined,
            (Failure{FailureKind::application, "Declined", "no funds", false, R"({"code":51})", 0, {}}));
}

TEST(FailureFrom, AThrownNonExceptionIsUnknown) {
  EXPECT_EQ(failure_of([] { throw 7; }).type, "unknown");
  EXPECT_EQ(failure_from(nullptr).type, "unknown");
}

TEST(FailureFrom, AMessageThatIsNoTextBecomesText) {
  const Failure failure = failure_of([] { throw std::runtime_error{"caf\xE9 \xE2\x82"}; });
  EXPECT_EQ(failure.message, "caf\xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD");
  const Failure with_nul = failure_of([] { throw ApplicationError{std::string("a\0b", 3), "m"}; });
  EXPECT_TRUE(base::is_text(with_nul.type));
}

TEST(FailureFrom, DetailsThatAreNotJsonBecomeAJsonString) {
  const auto stored = [](std::string details) {
    return failure_of([&] { throw ApplicationError{"Declined", "no", false, details}; }).details;
  };
  EXPECT_EQ(stored(""), "");
  EXPECT_EQ(stored(R"({"code":51})"), R"({"code":51})");
  EXPECT_EQ(stored("\"text\""), "\"text\"");
  EXPECT_EQ(stored("code 51"), "\"code 51\"");
  EXPECT_EQ(stored("{\"code\":"), R"("{\"code\":")");
  // Applied again, as when an orchestration passes it on.
  EXPECT_EQ(stored(stored("code 51")), "\"code 51\"");
}

TEST(Failure, DescribesItselfInOneLine) {
  EXPECT_EQ(Failure::application("T", "boom").describe(), "boom");
  EXPECT_EQ(Failure::application("T", "").describe(), "T");
  EXPECT_EQ(Failure::cancelled("user request").describe(), "cancelled: user request");
  Failure timeout;
  timeout.kind = FailureKind::timeout;
  timeout.timeout = TimeoutKind::heartbeat;
  EXPECT_EQ(timeout.describe(), "timeout (heartbeat)");
  EXPECT_STREQ(ActivityError{Failure::cancelled("why")}.what(), "cancelled: why");
}

TEST(FailureJson, EveryFailureComesBackAsItWas) {
  for (const Failure& failure : samples::failures()) {
    EXPECT_EQ(read(json_of(failure)), failure) << json_of(failure);
    EXPECT_EQ(read(json_of(failure, "OrchestrationFailed")), failure) << json_of(failure);
  }
}

TEST(FailureJson, TheReferencesDetailsAreWrittenAsTheyWereRead) {
  for (
      const char* details : {
          R"({"Infrastructure":{"operation":"ack_orchestration_item","message":"Instance lock expired","retryable":false}})",
          R"({"Configuration":{"kind":"Nondeterminism","resource":"","message":"schedule mismatch"}})",
          R"({"Application":{"kind":"ActivityFailed","message":"declined","retryable":true}})",
          R"({"Application":{"kind":"Panicked","message":"oh no","retryable":false}})",
          R"({"Application":{"kind":{"Cancelled":{"reason":"r"}},"message":"","retryable":false}})",
          R"({"Poison":{"attempt_count":11,"max_attempts":10,"message_type":{"Activity":{"instance":"i","execution_id":1,"activity_name":"A","activity_id":2}},"message":"{}"}})",
      }) {
    EXPECT_EQ(json_of(read(details)), details);
  }
}

TEST(FailureJson, PoisonReadsTheContractsFields) {
  const Failure poison = read(
      R"({"Poison":{"attempt_count":11,"max_attempts":10,"message_type":{"Orchestration":{"instance":"i","execution_id":1}},"message":"m"}})");
  EXPECT_EQ(poison.kind, FailureKind::poison);
  EXPECT_EQ(poison.attempt, 11U);
  EXPECT_EQ(poison.message, "m");
  EXPECT_EQ(poison.details,
            R"({"max_attempts":10,"message_type":{"Orchestration":{"instance":"i","execution_id":1}}})");
}

TEST(FailureJson, KindsTheContractLacksHaveTheirOwnShape) {
  Failure timeout;
  timeout.kind = FailureKind::timeout;
  timeout.timeout = TimeoutKind::start_to_close;
  timeout.message = "took too long";
  EXPECT_EQ(
      json_of(timeout),
      R"({"Application":{"kind":{"Timeout":{"which":"start_to_close"}},"message":"took too long","retryable":false}})");
  Failure limit;
  limit.kind = FailureKind::limit;
  limit.type = "max_actions_per_turn";
  limit.message = "10001";
  EXPECT_EQ(json_of(limit),
            R"({"Configuration":{"kind":"Limit","resource":"max_actions_per_turn","message":"10001"}})");
  EXPECT_EQ(read(R"({"Configuration":{"kind":"Nondeterminism","resource":"","message":null}})").message, "");
}

}  // namespace
}  // namespace duramen
