// The user's own types as payloads, alone and mixed with built-in ones.

#include <duramen/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace shop {

struct Line {
  std::string article;
  int count = 0;
  friend bool operator==(const Line&, const Line&) = default;
};
DURAMEN_JSON(Line, article, count)

struct Order {
  std::string id;
  std::vector<Line> lines;
  std::map<std::string, double> prices;
  friend bool operator==(const Order&, const Order&) = default;
};
DURAMEN_JSON(Order, id, lines, prices)

// With functions of its own instead of the macro.
struct Money {
  std::int64_t cents = 0;
  friend bool operator==(const Money&, const Money&) = default;
};
void to_json(nlohmann::json& json, const Money& money) { json = std::to_string(money.cents) + "c"; }
void from_json(const nlohmann::json& json, Money& money) {
  money.cents = std::stoll(json.get<std::string>());
}

enum class Size { small, large };

}  // namespace shop

namespace duramen {
namespace {

using shop::Line;
using shop::Money;
using shop::Order;
using testing::HasSubstr;

template <class T>
void expect_json(const T& value, std::string_view json) {
  const Payload payload = encode_payload(value);
  EXPECT_EQ(payload, Payload::json(std::string{json}));
  EXPECT_EQ(decode_payload<T>(payload), value);
}

template <class T>
std::string problem_of(std::string json) {
  try {
    (void)decode_payload<T>(Payload::json(std::move(json)));
    return "no problem";
  } catch (const DecodeError& e) {
    return e.failure().message;
  }
}

TEST(CodecJson, AStructIsAnObject) {
  expect_json(Line{"nut", 3}, R"({"article":"nut","count":3})");
  expect_json(
      Order{"A-17", {{"nut", 3}, {"bolt", 2}}, {{"nut", 0.5}}},
      R"({"id":"A-17","lines":[{"article":"nut","count":3},{"article":"bolt","count":2}],"prices":{"nut":0.5}})");
}

TEST(CodecJson, ATypesOwnFunctionsAreUsed) { expect_json(Money{450}, "\"450c\""); }

TEST(CodecJson, OwnTypesMixWithBuiltInOnes) {
  expect_json(std::vector<Line>{{"nut", 3}, {"b\"olt", 0}},
              R"([{"article":"nut","count":3},{"article":"b\"olt","count":0}])");
  expect_json(std::optional<Line>{}, "null");
  using Mixed =
      std::map<std::string, std::tuple<int, std::optional<Money>, std::vector<std::pair<std::string, Line>>>>;
  expect_json(Mixed{{"k", {1, Money{7}, {{"x", {"nut", 3}}}}}},
              R"({"k":[1,"7c",[["x",{"article":"nut","count":3}]]]})");
}

TEST(CodecJson, TypesKnownToNlohmannWork) {
  expect_json(std::set<int>{3, 1}, "[1,3]");
  expect_json(std::map<int, std::string>{{1, "a"}}, R"([[1,"a"]])");
  expect_json(shop::Size::large, "1");
  expect_json(nlohmann::json{{"a", {1, nullptr}}}, R"({"a":[1,null]})");
  expect_json(std::vector<nlohmann::json>{1, "x"}, R"([1,"x"])");
}

TEST(CodecJson, LargeAndExactNumbersSurviveNesting) {
  expect_json(std::vector<std::map<int, std::uint64_t>>{{{1, ~std::uint64_t{0}}}},
              "[[[1,18446744073709551615]]]");
  expect_json(std::vector<std::set<double>>{{0.1, 1e-7}}, "[[1e-07,0.1]]");
}

TEST(CodecJson, AProblemNamesTheTypeAndThePlace) {
  EXPECT_THAT(problem_of<Line>(R"({"article":"nut"})"),
              testing::AllOf(HasSubstr("expected shop::Line, found"), HasSubstr("'count' not found"),
                             HasSubstr(R"(; payload (json): {"article":"nut"})")));
  EXPECT_THAT(problem_of<std::vector<Line>>(R"([{"article":"nut","count":1},7])"),
              HasSubstr(" at [1]; payload"));
  EXPECT_THAT(problem_of<Line>("{"), HasSubstr("expected shop::Line"));
}

TEST(CodecJson, TextThatIsNotUtf8CannotBeEncoded) {
  try {
    (void)encode_payload(Line{"\xFF", 1});
    FAIL();
  } catch (const DurableError& e) {
    EXPECT_EQ(e.failure().type, "EncodeError");
  }
}

}  // namespace
}  // namespace duramen
