#include "providers/postgres/parameters.hpp"

#include "base/utf8.hpp"
#include "providers/postgres/error.hpp"

namespace duramen::inline v0::postgres::detail {

void require_storable(std::string_view text) {
  const std::size_t nul = text.find('\0');
  if (nul == std::string_view::npos) return;
  const std::string before = base::excerpt(base::to_text(std::string(text.substr(0, nul))), 20);
  throw StoreError({ErrorCode::invalid_argument, "",
                    "a text contains the character NUL after " + std::to_string(nul) + " bytes" +
                        (before.empty() ? std::string() : " ('" + before + "')") +
                        ", which PostgreSQL cannot store; encode such data, for example as base64",
                    false});
}

Column::Column(wire::Type array, wire::Type element) : array_(array), element_(element) {}

void Column::add_bytes(std::string_view bytes) {
  wire::append(bytes_, static_cast<std::uint32_t>(bytes.size()));
  bytes_.append(bytes);
  ++count_;
}

void Column::add_null() {
  wire::append(bytes_, std::uint32_t{0xffff'ffff});
  nulls_ = true;
  ++count_;
}

std::string Column::take() {
  std::string array;
  array.reserve(20 + bytes_.size());
  wire::append(array, std::uint32_t{count_ == 0 ? 0u : 1u});  // dimensions
  wire::append(array, std::uint32_t{nulls_ ? 1u : 0u});
  wire::append(array, static_cast<std::uint32_t>(element_));
  if (count_ > 0) {
    wire::append(array, static_cast<std::uint32_t>(count_));
    wire::append(array, std::uint32_t{1});  // counted from 1
    array.append(bytes_);
  }
  bytes_.clear();
  return array;
}

Parameters& Parameters::number(std::optional<std::int64_t> value) {
  std::optional<std::string> bytes;
  if (value) wire::append(bytes.emplace(), static_cast<std::uint64_t>(*value));
  values_.push_back({wire::int8, std::move(bytes)});
  return *this;
}

Parameters& Parameters::index(std::size_t value) {
  std::string bytes;
  wire::append(bytes, static_cast<std::uint32_t>(value));
  values_.push_back({wire::int4, std::move(bytes)});
  return *this;
}

Parameters& Parameters::flag(bool value) {
  values_.push_back({wire::boolean, std::string(1, value ? '\1' : '\0')});
  return *this;
}

Parameters& Parameters::text(std::optional<std::string_view> value) {
  if (value) require_storable(*value);
  values_.push_back({wire::text, value ? std::optional(std::string(*value)) : std::nullopt});
  return *this;
}

}  // namespace duramen::inline v0::postgres::detail
