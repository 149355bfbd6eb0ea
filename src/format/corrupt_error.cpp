#include "format/corrupt_error.hpp"

#include <string>
#include <utility>

namespace duramen::format {
namespace {

Error corrupt(std::string_view operation, std::string message) {
  return Error{
      .code = ErrorCode::corrupt, .operation = std::string{operation}, .message = std::move(message)};
}

}  // namespace

Error corrupt_event(std::string_view operation, const EventContext& where, EventId id, std::string_view type,
                    std::string_view problem) {
  std::string message =
      "instance '" + where.instance.value + "', execution " + std::to_string(where.execution.value);
  if (id) message.append(", event ").append(std::to_string(id.value));
  if (!type.empty()) message.append(" (").append(type).append(")");
  return corrupt(operation, message.append(": ").append(problem));
}

Error corrupt_message(std::string_view operation, const InstanceId& target, std::string_view type,
                      std::string_view problem) {
  std::string message = "message";
  if (!type.empty()) message.append(" ").append(type);
  if (!target.empty()) message.append(" for instance '").append(target.value).append("'");
  return corrupt(operation, message.append(": ").append(problem));
}

}  // namespace duramen::format
