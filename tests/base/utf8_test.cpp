#include "base/utf8.hpp"

#include <gtest/gtest.h>

namespace duramen::base {
namespace {

TEST(Utf8, TextIsUtf8WithoutNul) {
  EXPECT_TRUE(is_text(""));
  EXPECT_TRUE(is_text("caf\xC3\xA9 \xF0\x9F\x8C\xB3"));
  EXPECT_FALSE(is_text("caf\xE9"));
  EXPECT_FALSE(is_text(std::string_view("a\0b", 3)));
  EXPECT_TRUE(is_utf8(std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));
}

TEST(Utf8, ToTextReplacesInvalidBytesAndKeepsTheRest) {
  EXPECT_EQ(to_text("fine \xE2\x82\xAC"), "fine \xE2\x82\xAC");
  EXPECT_EQ(to_text("\xC3\xA9\xFF!"), "\xC3\xA9\xEF\xBF\xBD!");
  EXPECT_EQ(to_text(std::string("a\0b", 3)),
            "a\xEF\xBF\xBD"
            "b");
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      EXPECT_TRUE(is_text(to_text({static_cast<char>(a), static_cast<char>(b), 'x'})));
    }
  }
}

TEST(Utf8, AnExcerptNeverCutsACharacter) {
  EXPECT_EQ(excerpt("abc", 3), "abc");
  EXPECT_EQ(excerpt("abcd", 3), "abc...");
  EXPECT_EQ(excerpt("ab\xE2\x82\xAC", 4), "ab...");
  EXPECT_EQ(excerpt("\xE2\x82\xAC", 1), "...");
}

}  // namespace
}  // namespace duramen::base
