// Lists as one parameter: a JSON array that a statement opens with json_each.
#pragma once

#include "base/json_writer.hpp"

#include <functional>
#include <string>

namespace duramen::inline v0::sqlite::detail {

template <class Range, class Projection = std::identity>
[[nodiscard]] std::string json_list(const Range& range, Projection projection = {}) {
  std::string list;
  base::JsonWriter writer{list};
  writer.begin_array();
  for (const auto& element : range) writer.value(std::invoke(projection, element));
  writer.end_array();
  return list;
}

}  // namespace duramen::inline v0::sqlite::detail
