#include "text.hpp"

#include "values.hpp"

namespace duramen::cli {

Cell status_cell(Status status) {
  Tone tone = Tone::plain;
  switch (status) {
    case Status::pending:
    case Status::continued_as_new:
      tone = Tone::warning;
      break;
    case Status::running:
      tone = Tone::busy;
      break;
    case Status::cancelling:
    case Status::cancelled:
      tone = Tone::warning;
      break;
    case Status::completed:
      tone = Tone::good;
      break;
    case Status::failed:
      tone = Tone::bad;
      break;
  }
  return {std::string(to_string(status)), tone};
}

Cell status_cell(const InstanceInfo& info) {
  return info.unreadable ? Cell{"unreadable", Tone::bad} : status_cell(info.status);
}

bool is_damage(const Error& error) {
  return error.code == ErrorCode::corrupt || error.code == ErrorCode::invalid_argument;
}

void leave_out_unreadable(Answer& answer, const InstanceInfo& info) {
  if (info.unreadable) {
    answer.leave_out("instance \"" + info.instance.value + "\" cannot be read: " + *info.unreadable);
  }
}

std::string_view mode_name(CancelMode mode) {
  return mode == CancelMode::graceful ? "graceful" : "terminate";
}

std::string code_of(const std::string& name, const std::string& version) {
  return version.empty() ? name : name + " " + version;
}

std::string in_short(const Payload& payload, std::size_t limit) {
  std::string text = payload.encoding == Encoding::text ? "\"" + payload.data + "\"" : payload.data;
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0u) == 0x80u)
    --limit;  // not inside a character
  return text.substr(0, limit) + "… (" + std::to_string(payload.data.size()) + " bytes)";
}

std::string failure_detail(Status status, const Failure& failure) {
  const bool shown_by_status = status == Status::cancelled && failure.kind == FailureKind::cancelled;
  return shown_by_status ? failure.message : failure.describe();
}

std::string count(std::size_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string some_of(const std::vector<InstanceId>& ids) {
  constexpr std::size_t shown = 5;
  std::string text;
  for (std::size_t i = 0; i < ids.size() && i < shown; ++i) text += (i == 0 ? "" : ", ") + ids[i].value;
  if (ids.size() > shown) text += " and " + std::to_string(ids.size() - shown) + " more";
  return text;
}

// -- JSON -----------------------------------------------------------------------------------------

void add_payload(JsonObject& to, const std::string& name, const std::optional<Payload>& payload) {
  if (!payload) {
    to.add(name, Json());
    return;
  }
  to.add(name, Json::payload(*payload));
  to.add(name + "_encoding", to_string(payload->encoding));
}

Json to_json(const Failure& failure) {
  JsonObject object;
  object.add("kind", to_string(failure.kind))
      .add("type", failure.type)
      .add("message", failure.message)
      .add("retryable", failure.retryable);
  if (!failure.details.empty()) object.add("details", Json::payload(Payload::json(failure.details)));
  if (failure.attempt != 0) object.add("attempt", failure.attempt);
  if (failure.timeout) object.add("timeout", to_string(*failure.timeout));
  return object;
}

Json to_json(const InstanceInfo& info, bool with_results) {
  JsonObject object;
  object.add("instance_id", info.instance)
      .add("orchestration_name", info.name)
      .add("orchestration_version", info.version)
      .add("status", info.unreadable ? Json() : Json(to_string(info.status)))
      .add("current_execution_id", info.execution)
      .add("event_count", info.last_event_id)
      .add("created_at", info.created_at)
      .add("updated_at", info.updated_at)
      .add("parent_instance_id", info.parent ? Json(info.parent->instance) : Json())
      .add("custom_status", info.custom_status)
      .add("cancel_asked", info.cancel_asked ? Json(mode_name(*info.cancel_asked)) : Json())
      .add("ended_at", info.ended_at);
  if (info.unreadable) object.add("unreadable", *info.unreadable);
  if (with_results) {
    add_payload(object, "output", info.output);
    object.add("failure", info.failure ? to_json(*info.failure) : Json());
  }
  return object;
}

}  // namespace duramen::cli
