#include "base/enum_names.hpp"

#include <duramen/failure.hpp>
#include <duramen/result.hpp>
#include <duramen/status.hpp>

#include <gtest/gtest.h>

namespace duramen {
namespace {

template <class E, class Parse>
void expect_round_trip(E last, Parse parse) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const auto value = static_cast<E>(i);
    EXPECT_EQ(parse(to_string(value)), value) << to_string(value);
  }
  EXPECT_EQ(parse("nonsense"), std::nullopt);
  EXPECT_EQ(parse(""), std::nullopt);
}

TEST(Names, EveryNameReadsBack) {
  expect_round_trip(Status::continued_as_new, parse_status);
  expect_round_trip(FailureKind::infrastructure, parse_failure_kind);
  expect_round_trip(TimeoutKind::total, parse_timeout_kind);
  expect_round_trip(CancelReason::poison, parse_cancel_reason);
}

TEST(Names, SpellingIsFixed) {
  EXPECT_EQ(to_string(Status::continued_as_new), "ContinuedAsNew");
  EXPECT_EQ(to_string(Status::cancelling), "Cancelling");
  EXPECT_EQ(to_string(FailureKind::nondeterminism), "nondeterminism");
  EXPECT_EQ(to_string(TimeoutKind::start_to_close), "start_to_close");
  EXPECT_EQ(to_string(CancelReason::orchestration_terminal_continued_as_new),
            "orchestration_terminal_continued_as_new");
  EXPECT_EQ(to_string(ErrorCode::lease_lost), "lease_lost");
  EXPECT_EQ(to_string(ErrorCode::internal), "internal");
}

TEST(Names, AValueOutsideTheEnumerationIsUnknown) {
  EXPECT_EQ(to_string(static_cast<Status>(200)), "unknown");
}

TEST(Error, DescribesOperationMessageAndCode) {
  EXPECT_EQ((Error{ErrorCode::busy, "fetch", "locked", true}.describe()), "fetch: locked (busy)");
  EXPECT_EQ((Error{ErrorCode::busy, "", "locked", true}.describe()), "locked (busy)");
  EXPECT_EQ((Error{ErrorCode::busy, "fetch", "", true}.describe()), "fetch: failed (busy)");
}

TEST(Result, ValueThrowsTheDescriptionOfItsError) {
  const Result<int> result = Error{ErrorCode::busy, "fetch", "locked", true};
  try {
    (void)result.value();
    FAIL();
  } catch (const BadResult& e) {
    EXPECT_STREQ(e.what(), "fetch: locked (busy)");
  }
}

}  // namespace
}  // namespace duramen
