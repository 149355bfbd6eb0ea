#include "format/event_fields.hpp"

namespace duramen::inline v0 {

EventClass event_class(const Event& event) noexcept {
  return std::visit([]<class Body>(const Body&) { return format::Describe<Body>::part; }, event.body);
}

std::string_view event_type(const Event& event) noexcept { return format::tag_of(event.body); }

}  // namespace duramen::inline v0
