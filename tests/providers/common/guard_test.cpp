// No exception leaves a store.
#include "providers/common/guard.hpp"

#include <gtest/gtest.h>

namespace duramen::providers {
namespace {

Error translate(const std::exception& thrown, const char* operation) {
  return Error{ErrorCode::internal, operation, std::string("translated: ") + thrown.what(), false};
}

template <class Body>
Result<int> guarded(Body body) {
  return guard("call", translate, [&]() -> Result<int> { return body(); });
}

TEST(Guard, ReturnsTheResultOfTheBody) {
  EXPECT_EQ(guarded([] { return 7; }).value(), 7);
}

TEST(Guard, NamesTheOperationInAnErrorOfTheStore) {
  const Result<int> result =
      guarded([]() -> int { throw StoreError({ErrorCode::corrupt, "", "damaged", true}); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::corrupt);
  EXPECT_EQ(result.error().operation, "call");
  EXPECT_EQ(result.error().message, "damaged");
  EXPECT_TRUE(result.error().retryable);
}

TEST(Guard, LetsTheStoreTranslateOtherExceptions) {
  const Result<int> result = guarded([]() -> int { throw std::runtime_error("driver"); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "translated: driver");
}

TEST(Guard, ReportsThatMemoryRanOut) {
  const Result<int> result = guarded([]() -> int { throw std::bad_alloc(); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::unavailable);
  EXPECT_TRUE(result.error().retryable);
}

}  // namespace
}  // namespace duramen::providers
