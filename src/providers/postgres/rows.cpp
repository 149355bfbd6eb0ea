#include "providers/postgres/rows.hpp"

#include "providers/postgres/wire.hpp"

#include <libpq-fe.h>

namespace duramen::inline v0::postgres::detail {

namespace {

/// Calls `visit` with the bytes of each element of an array of one dimension; nothing for a NULL.
template <class Visit>
void each_element(std::string_view array, Visit visit) {
  if (array.size() < 20 || wire::read<std::uint32_t>(array.data()) == 0) return;
  const auto count = wire::read<std::uint32_t>(array.data() + 12);
  std::size_t at = 20;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto size = static_cast<std::int32_t>(wire::read<std::uint32_t>(array.data() + at));
    at += 4;
    if (size < 0) {
      visit(std::string_view{});
      continue;
    }
    visit(array.substr(at, static_cast<std::size_t>(size)));
    at += static_cast<std::size_t>(size);
  }
}

/// The fields of a composite value, without their types.
std::vector<std::string_view> fields(std::string_view record) {
  std::vector<std::string_view> all;
  const auto count = wire::read<std::uint32_t>(record.data());
  std::size_t at = 4;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto size = static_cast<std::int32_t>(wire::read<std::uint32_t>(record.data() + at + 4));
    at += 8;
    const std::size_t length = size < 0 ? 0 : static_cast<std::size_t>(size);
    all.push_back(record.substr(at, length));
    at += length;
  }
  return all;
}

std::uint64_t number_of(std::string_view bytes) {
  return static_cast<std::uint64_t>(wire::read_number(bytes));
}

}  // namespace

Rows::Rows(pg_result* result) : result_(result, PQclear), count_(PQntuples(result)) {}

bool Rows::is_null(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }

std::string_view Rows::text(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t Rows::integer(int row, int column) const {
  return is_null(row, column) ? 0 : wire::read_number(text(row, column));
}

std::optional<std::string> Rows::optional_string(int row, int column) const {
  if (is_null(row, column)) return std::nullopt;
  return string(row, column);
}

std::vector<std::int64_t> Rows::integers(int row, int column) const {
  std::vector<std::int64_t> all;
  each_element(text(row, column),
               [&](std::string_view bytes) { all.push_back(bytes.empty() ? 0 : wire::read_number(bytes)); });
  return all;
}

std::vector<std::string_view> Rows::texts(int row, int column) const {
  std::vector<std::string_view> all;
  each_element(text(row, column), [&](std::string_view bytes) { all.push_back(bytes); });
  return all;
}

std::vector<StolenLease> Rows::stolen_leases(int row, int column) const {
  std::vector<StolenLease> all;
  each_element(text(row, column), [&](std::string_view bytes) {
    const auto part = fields(bytes);
    const ActivityKey key{Incarnation{number_of(part.at(1))}, ExecutionId{number_of(part.at(2))},
                          EventId{number_of(part.at(3))}};
    all.push_back({.owner = NodeId{part.at(0)},
                   .lease = {key, LeaseToken{number_of(part.at(4))}},
                   .reason = parse_cancel_reason(part.at(5)).value_or(CancelReason::dropped_future)});
  });
  return all;
}

}  // namespace duramen::inline v0::postgres::detail
