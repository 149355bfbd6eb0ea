// Stores keep the digest of a start; a digest of another build must be equal.
#include "providers/common/start_digest.hpp"

#include <gtest/gtest.h>

namespace duramen::providers {
namespace {

std::int64_t digest(std::string orchestration, Payload input) {
  return start_digest({.orchestration = std::move(orchestration), .input = std::move(input)});
}

TEST(Fnv1a, HasThePublishedValues) {
  EXPECT_EQ(base::Fnv1a{}.value(), 0xcbf29ce484222325ull);
  EXPECT_EQ(base::Fnv1a{}.add("a").value(), 0xaf63dc4c8601ec8cull);
  EXPECT_EQ(base::Fnv1a{}.add("foobar").value(), 0x85944171f73967e8ull);
}

TEST(StartDigest, NeverChanges) {
  EXPECT_EQ(digest("", Payload::json("")), 7877165631618374126);
  EXPECT_EQ(digest("checkout", Payload::json(R"({"order":7})")), 6189235988618461021);
  EXPECT_EQ(digest("checkout", Payload::text("Gr\xC3\xBC\xC3\x9F"
                                             "e")),
            -169331668647535026);
}

TEST(StartDigest, DependsOnWhereAPartEnds) {
  EXPECT_EQ(digest("ab", Payload::text("c")), -1262305286369815401);
  EXPECT_EQ(digest("a", Payload::text("bc")), -4003925756495014215);
}

TEST(StartDigest, IgnoresTheVersion) {
  const message::StartOrchestration plain{.orchestration = "a", .input = Payload::text("b")};
  message::StartOrchestration versioned = plain;
  versioned.version = "2.0.0";
  EXPECT_EQ(start_digest(plain), start_digest(versioned));
}

}  // namespace
}  // namespace duramen::providers
