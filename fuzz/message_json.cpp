// Any text as a message or as an activity request: it is read or refused, and a valid one is written
// unchanged.
#include "require.hpp"
#include <duramen/message.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

using duramen::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const duramen::InstanceId target{"order-1"};

  if (const auto item = duramen::message_from_json(text, target)) {
    const auto again = duramen::message_from_json(duramen::to_json(*item, target), target);
    require(again.has_value(), "a message that was written can be read");
    require(*again == *item, "a message that was written reads the same");
  } else {
    require(!item.error().message.empty(), "a refusal says why");
  }

  if (const auto activity = duramen::activity_request_from_json(text)) {
    const auto again = duramen::activity_request_from_json(duramen::to_json(*activity));
    require(again.has_value(), "an activity that was written can be read");
    require(*again == *activity, "an activity that was written reads the same");
  }
  return 0;
}
