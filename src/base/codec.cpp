#include <duramen/codec.hpp>

#include "base/utf8.hpp"

#include <cmath>

namespace duramen::inline v0 {
namespace detail {
namespace {

constexpr std::size_t excerpt_size = 120;

// Small values are shown, others are only named.
std::string describe_value(const JsonValue& value) {
  const JsonKind kind = value.kind();
  std::string text{describe(kind)};
  switch (kind) {
    case JsonKind::boolean:
    case JsonKind::integer:
    case JsonKind::number:
      return text.append(" (").append(value.text()).append(")");
    case JsonKind::array:
      return text.append(" of ").append(std::to_string(value.size())).append(" elements");
    default:
      return text;
  }
}

}  // namespace

void throw_mismatch(std::string expected, const JsonValue& found) {
  throw JsonMismatch{std::move(expected), describe_value(found), {}};
}

void throw_decode_error(const JsonMismatch& mismatch, const Payload& payload) {
  std::string message = "expected " + mismatch.expected + ", found " + mismatch.found;
  if (!mismatch.path.empty()) message.append(" at ").append(mismatch.path);
  const std::string shown =
      payload.data.size() <= excerpt_size ? payload.data : base::excerpt(payload.data, excerpt_size - 3);
  message.append("; payload (").append(to_string(payload.encoding)).append("): ").append(shown);
  throw DecodeError{Failure::application("DecodeError", base::to_text(std::move(message)))};
}

void throw_encode_error(std::string message) {
  throw DurableError{Failure::application("EncodeError", base::to_text(std::move(message)))};
}

std::string expected_integer(std::int64_t lowest, std::uint64_t highest) {
  return "an integer from " + std::to_string(lowest) + " to " + std::to_string(highest);
}

void require_array(const JsonValue& value, std::optional<std::size_t> size) {
  if (value.kind() == JsonKind::array && (!size || value.size() == *size)) return;
  throw_mismatch(size ? "an array of " + std::to_string(*size) + " elements" : "an array", value);
}

void require_object(const JsonValue& value) {
  if (value.kind() != JsonKind::object) throw_mismatch("an object", value);
}

bool is_finite(double value) noexcept { return std::isfinite(value); }

std::string JsonFormat<std::string>::read(const JsonValue& value) {
  const auto text = value.string();
  if (!text) throw_mismatch(expected(), value);
  return std::string{*text};
}

std::monostate JsonFormat<std::monostate>::read(const JsonValue& value) {
  if (!value.is_null()) throw_mismatch(expected(), value);
  return {};
}

bool JsonFormat<bool>::read(const JsonValue& value) {
  const auto flag = value.boolean();
  if (!flag) throw_mismatch(expected(), value);
  return *flag;
}

}  // namespace detail

std::string Codec<std::string>::decode(const Payload& payload) {
  if (payload.encoding == Encoding::text) return payload.data;
  return detail::decode_json<std::string>(payload);
}

}  // namespace duramen::inline v0
