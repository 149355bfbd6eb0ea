// Built-in types as payloads, without any JSON library in sight.

#include <duramen/codec.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace duramen {
namespace {

using testing::HasSubstr;

template <class T>
void expect_json(const T& value, std::string_view json) {
  const Payload payload = encode_payload(value);
  EXPECT_EQ(payload, Payload::json(std::string{json}));
  EXPECT_EQ(decode_payload<T>(payload), value);
}

template <class T>
std::string problem_of(const Payload& payload) {
  try {
    (void)decode_payload<T>(payload);
    return "no problem";
  } catch (const DecodeError& e) {
    EXPECT_EQ(e.failure().kind, FailureKind::application);
    EXPECT_EQ(e.failure().type, "DecodeError");
    EXPECT_FALSE(e.failure().retryable);
    return e.failure().message;
  }
}
template <class T>
std::string problem_of(std::string json) {
  return problem_of<T>(Payload::json(std::move(json)));
}

TEST(Codec, AStringIsStoredAsItIs) {
  EXPECT_EQ(encode_payload(std::string{"\"x\""}), Payload::text("\"x\""));
  EXPECT_EQ(encode_payload("literal"), Payload::text("literal"));
  EXPECT_EQ(encode_payload(std::string_view{"view"}), Payload::text("view"));
  EXPECT_EQ(decode_payload<std::string>(Payload::text("{not json")), "{not json");
}

TEST(Codec, AStringAlsoReadsJsonThatHoldsOne) {
  EXPECT_EQ(decode_payload<std::string>(Payload::json(R"("a\nb")")), "a\nb");
  EXPECT_EQ(problem_of<std::string>("7"), "expected a string, found an integer (7); payload (json): 7");
  EXPECT_THAT(problem_of<std::string>("nonsense"), HasSubstr("expected a string, found no JSON"));
}

TEST(Codec, VoidIsNull) {
  EXPECT_EQ(encode_payload<void>(), Payload::none());
  EXPECT_EQ(encode_payload(), Payload::none());
  decode_payload<void>(Payload::text("whatever"));
  expect_json(std::monostate{}, "null");
  EXPECT_THAT(problem_of<std::monostate>("0"), HasSubstr("expected null"));
}

TEST(Codec, APayloadIsPassedThrough) {
  for (const Payload& payload : {Payload::text("x"), Payload::json("[1]"), Payload::json("broken")}) {
    EXPECT_EQ(encode_payload(payload), payload);
    EXPECT_EQ(decode_payload<Payload>(payload), payload);
  }
}

TEST(Codec, ScalarsAreJson) {
  expect_json(true, "true");
  expect_json(false, "false");
  expect_json(42, "42");
  expect_json(std::int8_t{-128}, "-128");
  expect_json(std::uint8_t{255}, "255");
  expect_json(std::numeric_limits<std::int64_t>::min(), "-9223372036854775808");
  expect_json(std::numeric_limits<std::uint64_t>::max(), "18446744073709551615");
  expect_json('a', "97");
  expect_json(0.1, "0.1");
  expect_json(0.1F, "0.1");
  expect_json(1e300, "1e+300");
  expect_json(18446744073709551616.0, "18446744073709551616.0");
}

TEST(Codec, NegativeZeroKeepsItsSign) {
  EXPECT_TRUE(std::signbit(decode_payload<double>(encode_payload(-0.0))));
  EXPECT_TRUE(std::signbit(decode_payload<float>(encode_payload(-0.0F))));
}

TEST(Codec, ContainersAreJson) {
  expect_json(std::optional<int>{}, "null");
  expect_json(std::optional<int>{7}, "7");
  expect_json(std::vector<std::string>{}, "[]");
  expect_json(std::vector<std::string>{"a\"", "\n"}, R"(["a\"","\n"])");
  expect_json(std::vector<bool>{true, false}, "[true,false]");
  expect_json(std::map<std::string, int>{}, "{}");
  expect_json(std::map<std::string, int>{{"a{", 1}, {"b\"", 2}}, R"({"a{":1,"b\"":2})");
  expect_json(std::pair<std::string, int>{"a", 1}, R"(["a",1])");
  expect_json(std::tuple<int, bool, std::string>{1, true, "x"}, R"([1,true,"x"])");
  expect_json(std::tuple<>{}, "[]");
  using Deep = std::map<std::string, std::vector<std::optional<std::pair<int, std::vector<double>>>>>;
  expect_json(Deep{{"k", {std::nullopt, {{1, {0.5}}}}}}, R"({"k":[null,[1,[0.5]]]})");
}

TEST(Codec, JsonIsReadUnderAnyTag) {
  EXPECT_EQ(decode_payload<int>(Payload::text("42")), 42);
  EXPECT_EQ(decode_payload<std::vector<int>>(Payload::text(" [ 1 ] ")), std::vector<int>{1});
  EXPECT_THAT(problem_of<int>(Payload::text("forty")), HasSubstr("found no JSON"));
  EXPECT_THAT(problem_of<int>(Payload::text("")), HasSubstr("found no JSON: it is empty"));
}

TEST(Codec, IntegersThatDoNotFitAreRefused) {
  EXPECT_EQ(problem_of<std::int8_t>("128"),
            "expected an integer from -128 to 127, found an integer (128); payload (json): 128");
  EXPECT_THAT(problem_of<std::uint32_t>("-1"), HasSubstr("expected an integer from 0 to 4294967295"));
  EXPECT_THAT(problem_of<std::int64_t>("9223372036854775808"), HasSubstr("expected an integer"));
  EXPECT_THAT(problem_of<std::uint64_t>("18446744073709551616"), HasSubstr("expected an integer"));
  EXPECT_THAT(problem_of<int>("1.0"), HasSubstr("found a number (1.0)"));
  EXPECT_THAT(problem_of<int>("true"), HasSubstr("found a boolean (true)"));
  EXPECT_THAT(problem_of<float>("1e300"), HasSubstr("fits a float"));
}

TEST(Codec, OtherKindsAreRefused) {
  EXPECT_THAT(problem_of<bool>("1"), HasSubstr("expected a boolean"));
  EXPECT_THAT(problem_of<bool>("null"), HasSubstr("found null"));
  EXPECT_THAT(problem_of<double>("\"1\""), HasSubstr("expected a number, found a string"));
  EXPECT_THAT(problem_of<std::vector<int>>("{}"), HasSubstr("expected an array, found an object"));
  EXPECT_THAT((problem_of<std::map<std::string, int>>("[]")),
              HasSubstr("expected an object, found an array of 0"));
  EXPECT_THAT((problem_of<std::pair<int, int>>("[1]")),
              HasSubstr("expected an array of 2 elements, found an array of 1 elements"));
  EXPECT_THAT((problem_of<std::tuple<int>>("[1,2]")), HasSubstr("expected an array of 1 elements"));
}

TEST(Codec, AnErrorNamesThePlace) {
  using Value = std::vector<std::map<std::string, std::pair<int, bool>>>;
  EXPECT_EQ(problem_of<Value>(R"([{},{"k":[1,2]}])"),
            R"(expected a boolean, found an integer (2) at [1].k[1]; payload (json): [{},{"k":[1,2]}])");
}

TEST(Codec, AProblemShowsTheBeginningOfALongPayload) {
  const std::string problem = problem_of<int>("\"" + std::string(500, 'x') + "\"");
  EXPECT_THAT(problem, testing::EndsWith("; payload (json): \"" + std::string(116, 'x') + "..."));
}

TEST(Codec, NumbersWithoutJsonCannotBeEncoded) {
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW((void)encode_payload(value), DurableError);
    EXPECT_THROW((void)encode_payload(std::vector<float>{static_cast<float>(value)}), DurableError);
  }
}

}  // namespace

// A type with a codec of its own, which stores text.
struct Colour {
  std::string name;
  friend bool operator==(const Colour&, const Colour&) = default;
};
template <>
struct Codec<Colour> {
  static Payload encode(const Colour& colour) { return Payload::text(colour.name); }
  static Colour decode(const Payload& payload) {
    if (payload.encoding != Encoding::text)
      throw DecodeError{Failure::application("DecodeError", "not a colour")};
    return {payload.data};
  }
};

// Another, whose JSON may be anything, a bare string too.
struct Raw {
  std::string json;
  friend bool operator==(const Raw&, const Raw&) = default;
};
template <>
struct Codec<Raw> {
  static Payload encode(const Raw& raw) { return Payload::json(raw.json); }
  static Raw decode(const Payload& payload) {
    if (payload.encoding != Encoding::json)
      throw DecodeError{Failure::application("DecodeError", "not JSON")};
    return {payload.data};
  }
};

namespace {

TEST(Codec, AnOwnCodecIsUsed) {
  EXPECT_EQ(encode_payload(Colour{"red"}), Payload::text("red"));
  EXPECT_EQ(decode_payload<Colour>(Payload::text("red")), Colour{"red"});
}

TEST(Codec, AnOwnCodecWorksInsideContainers) {
  expect_json(std::vector<Colour>{{"red"}, {"\"blue\""}}, R"(["red","\"blue\""])");
  expect_json(std::map<std::string, Raw>{{"a", {"\"text\""}}, {"b", {"[1]"}}}, R"({"a":["text"],"b":[[1]]})");
  expect_json(std::vector<std::optional<Payload>>{Payload::text("x"), Payload::json("\"x\""), std::nullopt},
              R"(["x",["x"],null])");
  EXPECT_THAT(problem_of<std::vector<Colour>>("[7]"), HasSubstr("at [0]"));
}

struct ShopName {
  operator std::string_view() const { return "shop"; }  // NOLINT: converts like a string type of a user
};

TEST(Codec, AnInputThatConvertsToTextIsStoredAsText) {
  EXPECT_EQ(detail::encode_input(ShopName{}), Payload::text("shop"));
  EXPECT_EQ(detail::encode_input("literal"), Payload::text("literal"));
  EXPECT_EQ(detail::encode_input(7), Payload::json("7"));
}

}  // namespace
}  // namespace duramen
