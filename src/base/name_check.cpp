#include "base/name_check.hpp"

#include "base/utf8.hpp"
#include <duramen/detail/mutant.hpp>

#include <charconv>

namespace duramen::base {

namespace {
std::string beginning(std::string_view text) { return "\"" + to_text(excerpt(text, 40)) + "\""; }
}  // namespace

std::optional<NameProblem> name_problem(std::string_view what, std::string_view name, std::size_t limit) {
  if (name.empty()) {
    return NameProblem{NameProblem::Kind::empty, std::string(what) + " must not be empty; give one"};
  }
  return text_problem(what, name, limit);
}

std::optional<NameProblem> text_problem(std::string_view what, std::string_view text, std::size_t limit) {
  if (text.size() > limit) {
    return NameProblem{NameProblem::Kind::too_long, std::string(what) + " has at most " +
                                                        std::to_string(limit) + " bytes; this one has " +
                                                        std::to_string(text.size()) + " and begins with " +
                                                        beginning(text) + "; give a shorter one"};
  }
  if (!is_text(text)) {
    return NameProblem{NameProblem::Kind::no_text, std::string(what) + " is UTF-8 text without NUL; " +
                                                       beginning(text) + " is not, so encode it"};
  }
  return std::nullopt;
}

std::optional<std::array<std::uint32_t, 3>> read_version(std::string_view text) noexcept {
  std::array<std::uint32_t, 3> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) {
      if (!text.starts_with('.')) return std::nullopt;
      text.remove_prefix(1);
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parts.at(i));
    const auto digits = static_cast<std::size_t>(end - text.data());
    const bool padded = digits > 1 && text.front() == '0' && !detail::mutant("versions_have_many_forms");
    if (error != std::errc{} || padded) return std::nullopt;
    text.remove_prefix(digits);
  }
  if (!text.empty()) return std::nullopt;
  return parts;
}

std::optional<NameProblem> version_problem(std::string_view version) {
  if (auto problem = text_problem("a version", version)) return problem;
  if (read_version(version)) return std::nullopt;
  return NameProblem{
      NameProblem::Kind::no_version,
      beginning(version) + " is not a version; write three numbers without leading zeros, like 1.2.3"};
}

}  // namespace duramen::base
