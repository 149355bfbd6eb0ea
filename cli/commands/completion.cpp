// duramen completion: the scripts in completion/, compiled in.
#include "commands.hpp"
#include "completion_scripts.hpp"

namespace duramen::cli {

Result<Answer> run(Context& /*context*/, const CompletionArguments& arguments) {
  Answer answer;
  if (arguments.shell == "bash") {
    answer.page.emplace_back(Verbatim{std::string(bash_completion())});
  } else if (arguments.shell == "zsh") {
    answer.page.emplace_back(Verbatim{std::string(zsh_completion())});
  } else {
    return Error{
        ErrorCode::invalid_argument, "completion",
        "there is no completion for \"" + arguments.shell + "\"; there is one for bash and one for zsh",
        false};
  }
  answer.documents.push_back(
      JsonObject().add("shell", arguments.shell).add("script", std::get<Verbatim>(answer.page.front()).text));
  return answer;
}

}  // namespace duramen::cli
