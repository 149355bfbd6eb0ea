#include "base/same_json.hpp"

#include <gtest/gtest.h>

#include <string>

namespace duramen::base {
namespace {

TEST(SameJson, IgnoresWhiteSpaceAndTheOrderOfMembers) {
  EXPECT_TRUE(same_json(R"({"a":1,"b":[1,2]})", R"( { "b" : [ 1 , 2 ] , "a" : 1 } )"));
  EXPECT_TRUE(
      same_json(R"({"x":{"a":1,"b":{"c":null,"d":true}}})", R"({"x":{"b":{"d":true,"c":null},"a":1}})"));
  EXPECT_TRUE(same_json(R"("\u00e9")", "\"\xC3\xA9\""));
  EXPECT_TRUE(same_json(" 7", "7"));
}

TEST(SameJson, TellsValuesApart) {
  EXPECT_FALSE(same_json("[1,2]", "[2,1]"));
  EXPECT_FALSE(same_json("[1,2]", "[1,2,3]"));
  EXPECT_FALSE(same_json("[1,2,3]", "[1,2]"));
  EXPECT_FALSE(same_json(R"({"a":1})", R"({"a":2})"));
  EXPECT_FALSE(same_json(R"({"a":1})", R"({"b":1})"));
  EXPECT_FALSE(same_json(R"({"a":1})", R"({"a":1,"b":2})"));
  EXPECT_FALSE(same_json("1", "1.0"));
  EXPECT_FALSE(same_json("1", "\"1\""));
  EXPECT_FALSE(same_json("true", "false"));
  EXPECT_FALSE(same_json("null", "0"));
  EXPECT_FALSE(same_json("18446744073709551615", "18446744073709551614"));
  EXPECT_FALSE(same_json("-1", "18446744073709551615"));
  EXPECT_FALSE(same_json("0.5", "0.25"));
}

TEST(SameJson, OfTwoMembersWithOneNameTheOrderCounts) {
  EXPECT_TRUE(same_json(R"({"a":1,"a":2,"b":3})", R"({"b":3,"a":1,"a":2})"));
  EXPECT_FALSE(same_json(R"({"a":1,"a":2})", R"({"a":2,"a":1})"));
}

TEST(SameJson, WhatIsNoJsonIsTheSameOnlyByteForByte) {
  EXPECT_TRUE(same_json("{", "{"));
  EXPECT_FALSE(same_json("{", " {"));
  EXPECT_FALSE(same_json("", "null"));
  EXPECT_FALSE(same_json(std::string(3000, '['), std::string(3001, '[')));
}

}  // namespace
}  // namespace duramen::base
