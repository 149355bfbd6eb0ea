// The only file that parses JSON. Parsers keep their buffers, so they are reused: each thread has a few, and
// a document borrows one while it lives.

#include <duramen/detail/json_value.hpp>

#include <simdjson.h>

#include <bit>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace duramen::inline v0::detail {

namespace dom = simdjson::dom;

// A JsonValue is a dom::element under another name; so is a position in an array or object.
struct Place {
  const void* document;
  std::size_t position;
};
static_assert(sizeof(dom::element) == sizeof(Place) && sizeof(dom::array::iterator) == sizeof(Place) &&
              sizeof(dom::object::iterator) == sizeof(Place));

struct JsonAccess {
  static JsonValue wrap(const dom::element& element) noexcept {
    const auto place = std::bit_cast<Place>(element);
    JsonValue value;
    value.document_ = place.document;
    value.position_ = place.position;
    return value;
  }
  static dom::element unwrap(const JsonValue& value) noexcept {
    return std::bit_cast<dom::element>(Place{value.document_, value.position_});
  }
};

namespace {

// Parsers that grew beyond this are not kept.
constexpr std::size_t kept_capacity = 1U << 20U;
constexpr std::size_t kept_parsers = 4;

thread_local std::vector<std::unique_ptr<dom::parser>> spare_parsers;

std::unique_ptr<dom::parser> take_parser() {
  if (spare_parsers.empty()) return std::make_unique<dom::parser>();
  auto parser = std::move(spare_parsers.back());
  spare_parsers.pop_back();
  return parser;
}

void give_back(std::unique_ptr<dom::parser> parser) noexcept {
  if (parser->capacity() > kept_capacity || spare_parsers.size() >= kept_parsers) return;
  if (spare_parsers.capacity() < kept_parsers) {
    try {
      spare_parsers.reserve(kept_parsers);
    } catch (...) {
      return;
    }
  }
  spare_parsers.push_back(std::move(parser));
}

// The value of the four hexadecimal digits at `at`; 0 if there are not four.
unsigned hex4(std::string_view text, std::size_t at) noexcept {
  unsigned value = 0;
  if (at + 4 > text.size()) return 0;
  for (const char c : text.substr(at, 4)) {
    const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                           : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A' + 10)
                                                  : 16U;
    if (digit == 16U) return 0;
    value = value * 16U + digit;
  }
  return value;
}

// True if an escape names half of a surrogate pair, which the parser would let through as broken UTF-8.
bool has_lone_surrogate(std::string_view text) noexcept {
  for (std::size_t i = text.find('\\'); i != std::string_view::npos; i = text.find('\\', i)) {
    if (i + 1 >= text.size() || text[i + 1] != 'u') {
      i += 2;
      if (i > text.size()) return false;
      continue;
    }
    const unsigned code = hex4(text, i + 2);
    i += 6;
    if (code >= 0xDC00 && code <= 0xDFFF) return true;
    if (code >= 0xD800 && code <= 0xDBFF) {
      if (text.substr(i < text.size() ? i : text.size(), 2) != "\\u") return true;
      const unsigned second = hex4(text, i + 2);
      if (second < 0xDC00 || second > 0xDFFF) return true;
      i += 6;
    }
    if (i > text.size()) return false;
  }
  return false;
}

}  // namespace

std::string_view describe(JsonKind kind) noexcept {
  switch (kind) {
    case JsonKind::null:
      return "null";
    case JsonKind::boolean:
      return "a boolean";
    case JsonKind::integer:
      return "an integer";
    case JsonKind::number:
      return "a number";
    case JsonKind::string:
      return "a string";
    case JsonKind::array:
      return "an array";
    case JsonKind::object:
      return "an object";
  }
  return "unknown";
}

JsonKind JsonValue::kind() const noexcept {
  switch (JsonAccess::unwrap(*this).type()) {
    case dom::element_type::NULL_VALUE:
      return JsonKind::null;
    case dom::element_type::BOOL:
      return JsonKind::boolean;
    case dom::element_type::INT64:
    case dom::element_type::UINT64:
      return JsonKind::integer;
    case dom::element_type::DOUBLE:
      return JsonKind::number;
    case dom::element_type::STRING:
      return JsonKind::string;
    case dom::element_type::ARRAY:
      return JsonKind::array;
    case dom::element_type::OBJECT:
      return JsonKind::object;
  }
  return JsonKind::null;
}

namespace {

template <class T, class From>
std::optional<T> get(const JsonValue& value) noexcept {
  From found{};
  if (JsonAccess::unwrap(value).get(found) != simdjson::SUCCESS) return std::nullopt;
  return T(found);
}

}  // namespace

std::optional<bool> JsonValue::boolean() const noexcept { return get<bool, bool>(*this); }
std::optional<double> JsonValue::number() const noexcept { return get<double, double>(*this); }
std::optional<std::string_view> JsonValue::string() const noexcept {
  return get<std::string_view, std::string_view>(*this);
}

std::optional<std::int64_t> JsonValue::int64() const noexcept {
  return kind() == JsonKind::integer ? get<std::int64_t, std::int64_t>(*this) : std::nullopt;
}
std::optional<std::uint64_t> JsonValue::uint64() const noexcept {
  return kind() == JsonKind::integer ? get<std::uint64_t, std::uint64_t>(*this) : std::nullopt;
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const noexcept {
  dom::object object;
  if (JsonAccess::unwrap(*this).get(object) != simdjson::SUCCESS) return std::nullopt;
  dom::element found;
  if (object.at_key(key).get(found) != simdjson::SUCCESS) return std::nullopt;
  return JsonAccess::wrap(found);
}

std::size_t JsonValue::size() const noexcept {
  const dom::element element = JsonAccess::unwrap(*this);
  if (dom::array array; element.get(array) == simdjson::SUCCESS) return array.size();
  if (dom::object object; element.get(object) == simdjson::SUCCESS) return object.size();
  return 0;
}

std::string JsonValue::text() const { return simdjson::minify(JsonAccess::unwrap(*this)); }

JsonCursor::JsonCursor(const JsonValue& container) noexcept {
  const dom::element element = JsonAccess::unwrap(container);
  Place begin{};
  Place end{};
  if (dom::array array; element.get(array) == simdjson::SUCCESS) {
    begin = std::bit_cast<Place>(array.begin());
    end = std::bit_cast<Place>(array.end());
  } else if (dom::object object; element.get(object) == simdjson::SUCCESS) {
    begin = std::bit_cast<Place>(object.begin());
    end = std::bit_cast<Place>(object.end());
    object_ = true;
  }
  document_ = begin.document;
  position_ = begin.position;
  end_ = end.position;
}

bool JsonCursor::next() noexcept {
  if (position_ == end_) return false;
  if (started_) {
    const Place here{document_, position_};
    if (object_) {
      position_ = std::bit_cast<Place>(++std::bit_cast<dom::object::iterator>(here)).position;
    } else {
      position_ = std::bit_cast<Place>(++std::bit_cast<dom::array::iterator>(here)).position;
    }
  }
  started_ = true;
  return position_ != end_;
}

JsonValue JsonCursor::value() const noexcept {
  const Place here{document_, position_};
  return JsonAccess::wrap(object_ ? std::bit_cast<dom::object::iterator>(here).value()
                                  : *std::bit_cast<dom::array::iterator>(here));
}

std::string_view JsonCursor::key() const noexcept {
  if (!object_) return {};  // the parser would read any value as a key
  return std::bit_cast<dom::object::iterator>(Place{document_, position_}).key();
}

JsonDocument::JsonDocument(std::string_view text) : parser_(nullptr) {
  if (text.empty()) {
    error_ = "it is empty";
    return;
  }
  auto parser = take_parser();
  dom::element root;
  const simdjson::error_code code = parser->parse(text.data(), text.size(), true).get(root);
  if (code != simdjson::SUCCESS) {
    error_ = simdjson::error_message(code);
  } else if (has_lone_surrogate(text)) {
    error_ = "an escape in a string is half of a surrogate pair";
  } else {
    root_ = JsonAccess::wrap(root);
  }
  parser_ = parser.release();
}

JsonDocument::~JsonDocument() {
  if (parser_ != nullptr) give_back(std::unique_ptr<dom::parser>{static_cast<dom::parser*>(parser_)});
}

}  // namespace duramen::inline v0::detail
