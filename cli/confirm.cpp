#include "session.hpp"

#include <iostream>

namespace duramen::cli {

Result<bool> confirm(const Context& context, const std::string& question) {
  if (context.globals.yes) return true;
  if (!can_ask()) {
    return Error{
        ErrorCode::invalid_argument, "confirm",
        question + " There is no terminal to ask on: add --yes if that is meant, or --dry-run to look first",
        false};
  }
  std::cerr << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

Answer left_alone() {
  Answer answer;
  answer.notes.emplace_back("nothing was changed");
  answer.exit = ExitCode::no;
  return answer;
}

}  // namespace duramen::cli
