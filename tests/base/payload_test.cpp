#include <duramen/codec.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace duramen {
namespace {

using testing::HasSubstr;

TEST(CheckPayload, TextWithinTheLimitIsFine) {
  EXPECT_TRUE(check_payload(Payload{}));
  EXPECT_TRUE(check_payload(Payload::text("caf\xC3\xA9")));
  EXPECT_TRUE(check_payload(Payload::text(std::string(default_payload_limit, 'x'))));
  EXPECT_TRUE(check_payload(Payload::text("1234"), 4));
}

TEST(CheckPayload, ATooLargeOneIsRefusedWithItsSizeAndWhatToDo) {
  const Result<void> result = check_payload(Payload::text("12345"), 4);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::limit_exceeded);
  EXPECT_THAT(result.error().message, HasSubstr("5 bytes, the limit is 4; store the data elsewhere"));
  EXPECT_FALSE(check_payload(Payload::text(std::string(default_payload_limit + 1, 'x'))));
}

TEST(CheckPayload, NulAndBrokenTextAreTheCallersMistake) {
  const Result<void> nul = check_payload(Payload::text(std::string("ab\0", 3)));
  ASSERT_FALSE(nul);
  EXPECT_EQ(nul.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(nul.error().message, HasSubstr("offset 2"));
  const Result<void> broken = check_payload(Payload::text("\xFF"));
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(broken.error().message, HasSubstr("UTF-8"));
}

}  // namespace
}  // namespace duramen
