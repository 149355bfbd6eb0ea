#include "base/json_equal.hpp"

#include <gtest/gtest.h>

#include <string>

namespace duramen::base {
namespace {

TEST(SameJson, IgnoresWhiteSpaceAndTheOrderOfMembers) {
  EXPECT_TRUE(json_equal(R"({"a":1,"b":[1,2]})", R"( { "b" : [ 1 , 2 ] , "a" : 1 } )"));
  EXPECT_TRUE(
      json_equal(R"({"x":{"a":1,"b":{"c":null,"d":true}}})", R"({"x":{"b":{"d":true,"c":null},"a":1}})"));
  EXPECT_TRUE(json_equal(R"("\u00e9")", "\"\xC3\xA9\""));
  EXPECT_TRUE(json_equal(" 7", "7"));
}

TEST(SameJson, SeparatesDifferentValues) {
  EXPECT_FALSE(json_equal("[1,2]", "[2,1]"));
  EXPECT_FALSE(json_equal("[1,2]", "[1,2,3]"));
  EXPECT_FALSE(json_equal("[1,2,3]", "[1,2]"));
  EXPECT_FALSE(json_equal(R"({"a":1})", R"({"a":2})"));
  EXPECT_FALSE(json_equal(R"({"a":1})", R"({"b":1})"));
  EXPECT_FALSE(json_equal(R"({"a":1})", R"({"a":1,"b":2})"));
  EXPECT_FALSE(json_equal("1", "1.0"));
  EXPECT_FALSE(json_equal("1", "\"1\""));
  EXPECT_FALSE(json_equal("true", "false"));
  EXPECT_FALSE(json_equal("null", "0"));
  EXPECT_FALSE(json_equal("18446744073709551615", "18446744073709551614"));
  EXPECT_FALSE(json_equal("-1", "18446744073709551615"));
  EXPECT_FALSE(json_equal("0.5", "0.25"));
}

TEST(SameJson, OrderMattersForMembersOfOneName) {
  EXPECT_TRUE(json_equal(R"({"a":1,"a":2,"b":3})", R"({"b":3,"a":1,"a":2})"));
  EXPECT_FALSE(json_equal(R"({"a":1,"a":2})", R"({"a":2,"a":1})"));
}

TEST(SameJson, InvalidJsonIsComparedByteForByte) {
  EXPECT_TRUE(json_equal("{", "{"));
  EXPECT_FALSE(json_equal("{", " {"));
  EXPECT_FALSE(json_equal("", "null"));
  EXPECT_FALSE(json_equal(std::string(3000, '['), std::string(3001, '[')));
}

}  // namespace
}  // namespace duramen::base
