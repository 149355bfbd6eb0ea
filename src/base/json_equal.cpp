#include "base/json_equal.hpp"

#include <duramen/detail/json_value.hpp>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace duramen::base {
namespace {

using detail::JsonCursor;
using detail::JsonDocument;
using detail::JsonKind;
using detail::JsonValue;

using Members = std::vector<std::pair<std::string_view, JsonValue>>;

Members sorted_members(const JsonValue& object) {
  Members members;
  members.reserve(object.size());
  for (JsonCursor c{object}; c.next();) members.emplace_back(c.key(), c.value());
  // Ordered by name, then by position in the text: keys lie in the document in its order.
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : std::less<>{}(a.first.data(), b.first.data());
  });
  return members;
}

bool same(const JsonValue& a, const JsonValue& b);

bool same_elements(const JsonValue& a, const JsonValue& b) {
  JsonCursor in_a{a};
  JsonCursor in_b{b};
  while (in_a.next()) {
    if (!in_b.next() || !same(in_a.value(), in_b.value())) return false;
  }
  return !in_b.next();
}

bool same_members(const JsonValue& a, const JsonValue& b) {
  if (a.size() != b.size()) return false;
  const Members in_a = sorted_members(a);
  const Members in_b = sorted_members(b);
  return std::equal(in_a.begin(), in_a.end(), in_b.begin(), in_b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && same(x.second, y.second);
  });
}

// The recursion is limited by the parser's maximum depth, 1024.
bool same(const JsonValue& a, const JsonValue& b) {
  const JsonKind kind = a.kind();
  if (kind != b.kind()) return false;
  switch (kind) {
    case JsonKind::null:
      return true;
    case JsonKind::boolean:
      return a.boolean() == b.boolean();
    case JsonKind::integer:
      return a.int64() == b.int64() && a.uint64() == b.uint64();
    case JsonKind::number:
      return a.number() == b.number();
    case JsonKind::string:
      return a.string() == b.string();
    case JsonKind::array:
      return same_elements(a, b);
    case JsonKind::object:
      return same_members(a, b);
  }
  return false;
}

}  // namespace

bool json_equal(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const JsonDocument in_a{a};
  const JsonDocument in_b{b};
  return in_a.error().empty() && in_b.error().empty() && same(in_a.root(), in_b.root());
}

}  // namespace duramen::base
