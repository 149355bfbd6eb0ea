// The rules for names: ids, keys, names of events. One place for the rule and for the messages.
#pragma once

#include <duramen/limits.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace duramen::base {

struct NameProblem {
  enum class Kind : std::uint8_t { empty, too_long, no_text, no_version } kind;
  std::string message;  ///< ends with what to do
};

/// The problem of a name; empty if it is valid. `what` is a noun like "an instance id".
[[nodiscard]] std::optional<NameProblem> name_problem(std::string_view what, std::string_view name,
                                                      std::size_t limit = max_name_bytes);
/// Like name_problem(), for a text that may be empty.
[[nodiscard]] std::optional<NameProblem> text_problem(std::string_view what, std::string_view text,
                                                      std::size_t limit = max_name_bytes);

/// The numbers of a version such as 1.2.3; empty if the text is not one. Every version has one form: no
/// number begins with a zero.
[[nodiscard]] std::optional<std::array<std::uint32_t, 3>> read_version(std::string_view text) noexcept;
/// The problem of a version: the registry, the client and orchestrations accept the same ones.
[[nodiscard]] std::optional<NameProblem> version_problem(std::string_view version);

}  // namespace duramen::base
