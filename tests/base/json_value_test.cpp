#include <duramen/detail/json_value.hpp>

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace duramen::detail {
namespace {

TEST(JsonValue, KnowsItsKind) {
  const JsonDocument document{R"([null,true,1,-1,18446744073709551615,1.5,"s",[],{}])"};
  ASSERT_EQ(document.error(), "");
  std::vector<JsonKind> kinds;
  for (JsonCursor c{document.root()}; c.next();) kinds.push_back(c.value().kind());
  using enum JsonKind;
  EXPECT_EQ(kinds, (std::vector{null, boolean, integer, integer, integer, number, string, array, object}));
}

TEST(JsonValue, IsEmptyForAnotherKindOrAnIntegerThatDoesNotFit) {
  const JsonDocument document{R"({"most":18446744073709551615,"least":-9223372036854775808,"half":0.5})"};
  const JsonValue most = *document.root().find("most");
  EXPECT_EQ(most.uint64(), ~std::uint64_t{0});
  EXPECT_EQ(most.int64(), std::nullopt);
  const JsonValue least = *document.root().find("least");
  EXPECT_EQ(least.int64(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(least.uint64(), std::nullopt);
  const JsonValue half = *document.root().find("half");
  EXPECT_EQ(half.int64(), std::nullopt);
  EXPECT_EQ(half.string(), std::nullopt);
  EXPECT_EQ(document.root().find("none"), std::nullopt);
  EXPECT_EQ(half.find("x"), std::nullopt);
}

TEST(JsonCursor, WalksMembersWithTheirKeys) {
  const JsonDocument document{R"({"a":[1,2],"b":{"c":3},"d":4})"};
  std::string walked;
  for (JsonCursor c{document.root()}; c.next();)
    walked.append(c.key()).append("=").append(c.value().text()).append(";");
  EXPECT_EQ(walked, R"(a=[1,2];b={"c":3};d=4;)");
}

TEST(JsonCursor, WalksNothingInAScalarAndStaysAtTheEnd) {
  const JsonDocument document{"7"};
  JsonCursor c{document.root()};
  EXPECT_FALSE(c.next());
  const JsonDocument one{"[1]"};
  JsonCursor d{one.root()};
  EXPECT_TRUE(d.next());
  EXPECT_FALSE(d.next());
  EXPECT_FALSE(d.next());
}

TEST(JsonDocument, DocumentsMayBeNested) {
  const JsonDocument outer{R"(["outer"])"};
  for (int i = 0; i < 10; ++i) {
    const JsonDocument inner{R"(["inner"])"};
    const JsonDocument broken{"["};
    EXPECT_EQ(outer.root().text(), R"(["outer"])");
    EXPECT_NE(broken.error(), "");
  }
}

TEST(JsonDocument, ThreadsDoNotDisturbEachOther) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      const std::string text = "[" + std::to_string(t) + "]";
      for (int i = 0; i < 500; ++i) EXPECT_EQ(JsonDocument{text}.root().text(), text);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(JsonDocument, LargeTextsAreFine) {
  const std::string text = "\"" + std::string(3'000'000, 'x') + "\"";
  const JsonDocument document{text};
  ASSERT_EQ(document.error(), "");
  EXPECT_EQ(document.root().string()->size(), 3'000'000U);
}

}  // namespace
}  // namespace duramen::detail
