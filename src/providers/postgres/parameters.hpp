// The parameters of a statement: single values, and columns of values that the statement unnests.
#pragma once

#include "providers/postgres/wire.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace duramen::inline v0::postgres::detail {

/// Throws StoreError for a text that PostgreSQL cannot store.
void require_storable(std::string_view text);

/// An array under construction, in binary.
class Column {
 public:
  [[nodiscard]] wire::Type type() const noexcept { return array_; }
  /// Returns the whole array; the column is empty afterwards.
  [[nodiscard]] std::string take();
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

 protected:
  Column(wire::Type array, wire::Type element);
  void add_bytes(std::string_view bytes);
  void add_null();
  template <class Unsigned>
  void add_number(Unsigned value) {
    wire::append<std::uint32_t>(bytes_, sizeof value);
    wire::append(bytes_, value);
    ++count_;
  }

 private:
  wire::Type array_;
  wire::Type element_;
  std::size_t count_ = 0;
  bool nulls_ = false;
  std::string bytes_;
};

class BigintColumn : public Column {
 public:
  BigintColumn() : Column(wire::int8_array, wire::int8) {}
  void add(std::int64_t value) { add_number(static_cast<std::uint64_t>(value)); }
  void add(std::uint64_t value) { add_number(value); }
  template <class Number>
  void add(std::optional<Number> value) {
    if (value) {
      add(*value);
    } else {
      add_null();
    }
  }
};

/// Numbers of four bytes: places in other columns, versions, attempts.
class IntegerColumn : public Column {
 public:
  IntegerColumn() : Column(wire::int4_array, wire::int4) {}
  void add(std::size_t value) { add_number(static_cast<std::uint32_t>(value)); }
};

/// Numbers of two bytes: the kinds that a function distinguishes.
class SmallintColumn : public Column {
 public:
  SmallintColumn() : Column(wire::int2_array, wire::int2) {}
  void add(int value) { add_number(static_cast<std::uint16_t>(value)); }
};

class BooleanColumn : public Column {
 public:
  BooleanColumn() : Column(wire::boolean_array, wire::boolean) {}
  void add(bool value) { add_number(static_cast<std::uint8_t>(value ? 1 : 0)); }
};

class TextColumn : public Column {
 public:
  TextColumn() : Column(wire::text_array, wire::text) {}
  void add(std::string_view text) {
    require_storable(text);
    add_bytes(text);
  }
  template <class Text>
  void add(const std::optional<Text>& text) {
    if (text) {
      add(std::string_view(*text));
    } else {
      add_null();
    }
  }
  void add(std::nullopt_t) { add_null(); }
};

/// The parameters of one statement, in their order.
class Parameters {
 public:
  struct Value {
    wire::Type type;
    std::optional<std::string> bytes;
  };

  Parameters& add(Column&& column) {
    const wire::Type type = column.type();
    values_.push_back({type, column.take()});
    return *this;
  }
  Parameters& number(std::optional<std::int64_t> value);
  Parameters& index(std::size_t value);
  /// A number of rows that SQL's LIMIT accepts.
  Parameters& limit(std::size_t rows) { return index(std::min<std::size_t>(rows, 1u << 30)); }
  Parameters& flag(bool value);
  Parameters& text(std::optional<std::string_view> value);
  Parameters& no_texts() {
    values_.push_back({wire::text_array, std::nullopt});
    return *this;
  }

  [[nodiscard]] const std::vector<Value>& values() const noexcept { return values_; }

 private:
  std::vector<Value> values_;
};

}  // namespace duramen::inline v0::postgres::detail
