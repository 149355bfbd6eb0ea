#include <duramen/result.hpp>

namespace duramen::inline v0 {

std::string Error::describe() const {
  std::string text;
  if (!operation.empty()) text.append(operation).append(": ");
  text.append(message.empty() ? std::string_view{"failed"} : std::string_view{message});
  return text.append(" (").append(to_string(code)).append(")");
}

}  // namespace duramen::inline v0
