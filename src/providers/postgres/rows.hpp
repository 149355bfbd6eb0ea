// The binary result of a statement.
#pragma once

#include <duramen/provider.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct pg_result;

namespace duramen::inline v0::postgres::detail {

class Rows {
 public:
  Rows() = default;
  explicit Rows(pg_result* result);

  [[nodiscard]] int count() const noexcept { return count_; }

  [[nodiscard]] bool is_null(int row, int column) const;
  /// Zero, empty, false or no elements if the value is NULL.
  [[nodiscard]] std::int64_t integer(int row, int column) const;
  [[nodiscard]] std::uint64_t number(int row, int column) const {
    return static_cast<std::uint64_t>(integer(row, column));
  }
  [[nodiscard]] bool flag(int row, int column) const { return integer(row, column) != 0; }
  [[nodiscard]] std::string_view text(int row, int column) const;
  [[nodiscard]] std::string string(int row, int column) const { return std::string(text(row, column)); }
  [[nodiscard]] std::optional<std::string> optional_string(int row, int column) const;
  [[nodiscard]] std::optional<TimePoint> optional_time(int row, int column) const {
    return is_null(row, column) ? std::nullopt : std::optional(from_unix_ms(integer(row, column)));
  }
  [[nodiscard]] std::vector<std::int64_t> integers(int row, int column) const;
  /// Valid as long as the rows live.
  [[nodiscard]] std::vector<std::string_view> texts(int row, int column) const;
  [[nodiscard]] std::vector<StolenLease> stolen_leases(int row, int column) const;

 private:
  std::shared_ptr<pg_result> result_;
  int count_ = 0;
};

}  // namespace duramen::inline v0::postgres::detail
