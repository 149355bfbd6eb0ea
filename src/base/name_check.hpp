// What may be a name: an id, a key, the name of an event. One place for the rule and for the words.
#pragma once

#include <duramen/limits.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace duramen::base {

struct NameProblem {
  enum class Kind : std::uint8_t { empty, too_long, no_text } kind;
  std::string message;  ///< ends in what to do
};

/// What is wrong with a name; empty if nothing is. `what` as in "an instance id".
[[nodiscard]] std::optional<NameProblem> name_problem(std::string_view what, std::string_view name,
                                                      std::size_t limit = max_name_bytes);
/// The same for one that may be empty.
[[nodiscard]] std::optional<NameProblem> text_problem(std::string_view what, std::string_view text,
                                                      std::size_t limit = max_name_bytes);

}  // namespace duramen::base
