// Any text as an event: it is read or refused. An event that was read can be written and read again.
#include "require.hpp"
#include <duramen/history.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using duramen::Event;
using duramen::fuzz::require;

void check_interchange_form(std::string_view text, const duramen::EventContext& where) {
  const auto event = duramen::event_from_json(text, where);
  if (!event) {
    require(!event.error().message.empty(), "a refusal says why");
    return;
  }
  const auto again = duramen::event_from_json(duramen::to_json(*event, where), where);
  require(again.has_value(), "what was written can be read");
  require(*again == *event, "what was written reads the same");

  std::vector<Event> stored;
  require(duramen::decode_events(duramen::encode_events({*event}), where, stored).has_value(),
          "what is stored can be read");
  require(stored == std::vector<Event>{*event}, "what is stored reads the same");
}

void check_stored_form(std::string_view text, const duramen::EventContext& where) {
  std::vector<Event> events;
  if (!duramen::decode_events(text, where, events)) return;
  std::vector<Event> again;
  require(duramen::decode_events(duramen::encode_events(events), where, again).has_value(),
          "what was stored again can be read");
  require(again == events, "what was stored again reads the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const duramen::InstanceId instance{"order-1"};
  const duramen::EventContext where{instance, duramen::ExecutionId{1}};
  check_interchange_form(text, where);
  check_stored_form(text, where);
  return 0;
}
