// The description of messages that cannot be read stays short.
#include "providers/common/unreadable_messages.hpp"

#include <gtest/gtest.h>

namespace duramen::providers {
namespace {

TEST(UnreadableMessages, HaveNoDescriptionIfThereAreNone) {
  EXPECT_EQ(UnreadableMessages{}.description(), std::nullopt);
}

TEST(UnreadableMessages, AreDescribedUpToTheFourthAndCountedFromThere) {
  UnreadableMessages messages;
  for (int id = 1; id <= 4; ++id) messages.add(id, "bad");
  EXPECT_EQ(messages.description(), "message 1: bad; message 2: bad; message 3: bad; message 4: bad");
  messages.add(5, "bad");
  messages.add(6, "bad");
  EXPECT_EQ(messages.count(), 6u);
  EXPECT_EQ(messages.description(),
            "message 1: bad; message 2: bad; message 3: bad; message 4: bad; and 2 more");
}

}  // namespace
}  // namespace duramen::providers
