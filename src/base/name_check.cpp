#include "base/name_check.hpp"

#include "base/utf8.hpp"

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

}  // namespace duramen::base
