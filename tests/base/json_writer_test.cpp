#include "base/json_writer.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <limits>
#include <random>

namespace duramen::base {
namespace {

std::string in_quotes(std::string_view text) {
  std::string out;
  detail::append_json_string(out, text);
  return out;
}

template <class T>
std::string number(T value) {
  std::string out;
  detail::append_json(out, value);
  return out;
}

TEST(JsonWriter, PutsCommasWhereTheyBelong) {
  std::string out;
  JsonWriter json{out};
  json.begin_object();
  json.field("a", 1);
  json.key("b");
  json.begin_array();
  json.value("x,[{:");
  json.null();
  json.begin_object();
  json.end_object();
  json.value(true);
  json.end_array();
  json.key("c", "_d");
  json.raw("[1]");
  json.field("e", ~std::uint64_t{0});
  json.end_object();
  EXPECT_EQ(out, R"({"a":1,"b":["x,[{:",null,{},true],"c_d":[1],"e":18446744073709551615})");
}

TEST(JsonWriter, EscapesOnlyWhatMustBeEscaped) {
  EXPECT_EQ(in_quotes(""), "\"\"");
  EXPECT_EQ(in_quotes("a/b \x7f \xC3\xA9"), "\"a/b \x7f \xC3\xA9\"");
  EXPECT_EQ(in_quotes("\"\\\b\f\n\r\t\x01\x1f"), R"("\"\\\b\f\n\r\t\u0001\u001f")");
}

TEST(JsonWriter, EscapesAtEveryPositionInALongString) {
  for (std::size_t size = 0; size < 40; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (const char c : {'"', '\\', '\n', '\x1f', '\x20', '!', '[', '\x7f'}) {
        std::string text(size, 'x');
        text[at] = c;
        EXPECT_EQ(in_quotes(text), nlohmann::json(text).dump());
      }
    }
  }
}

TEST(JsonWriter, NumbersReadBackAsTheSameNumber) {
  std::mt19937_64 random{7};
  std::vector<double> doubles{0.0,
                              -0.0,
                              1.0,
                              0.1,
                              1e15,
                              1e16,
                              1e20,
                              1e22,
                              1e300,
                              -1e-300,
                              18446744073709551616.0,
                              9007199254740993.0,
                              5e-324,
                              std::numeric_limits<double>::max()};
  for (int i = 0; i < 20000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (value - value == 0) doubles.push_back(value);
  }
  for (const double value : doubles) {
    const std::string text = number(value);
    const detail::JsonDocument document{text};
    ASSERT_EQ(document.error(), "") << text;
    EXPECT_EQ(std::bit_cast<std::uint64_t>(document.root().number().value()),
              std::bit_cast<std::uint64_t>(value))
        << text;
  }
  for (int i = 0; i < 20000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (value - value != 0) continue;
    const std::string text = number(value);
    const detail::JsonDocument document{text};
    ASSERT_EQ(document.error(), "") << text;
    EXPECT_EQ(static_cast<float>(document.root().number().value()), value) << text;
  }
}

TEST(JsonWriter, NumbersAreShort) {
  EXPECT_EQ(number(0.1), "0.1");
  EXPECT_EQ(number(0.1F), "0.1");
  EXPECT_EQ(number(42.0), "42");
  EXPECT_EQ(number(0.0F), "0");
  EXPECT_EQ(number(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
}

}  // namespace
}  // namespace duramen::base
