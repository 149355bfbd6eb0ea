#include "format/failure_json.hpp"

#include "base/object_reader.hpp"

#include <optional>

namespace duramen::format {
namespace {

using detail::JsonCursor;
using detail::JsonDocument;
using detail::JsonKind;
using detail::JsonValue;

constexpr std::string_view panicked = "Panicked";

// The details of a poison failure as the contract's two fields, or empty if one of them is missing.
std::string poison_details(const JsonValue& object) {
  const auto attempts = object.find("max_attempts");
  const auto message_type = object.find("message_type");
  if (!attempts || !message_type) return {};
  std::string details;
  base::JsonWriter json{details};
  json.begin_object();
  json.key("max_attempts");
  json.raw(attempts->text());
  json.key("message_type");
  json.raw(message_type->text());
  json.end_object();
  return details;
}

// True if `details` can be split into the contract's fields and joined again, byte for byte.
bool is_poison_details(const std::string& details) {
  if (!details.starts_with(R"({"max_attempts":)")) return false;
  const JsonDocument document{details};
  return document.error().empty() && poison_details(document.root()) == details;
}

// Each contract variant starts with its own fields; these follow.
struct Extras {
  bool type = false;
  bool retryable = false;
  bool attempt = true;
  bool details = true;
  bool timeout = true;
};

void write_extras(base::JsonWriter& json, const Failure& failure, const Extras& extras) {
  if (extras.type && !failure.type.empty()) json.field("type", std::string_view{failure.type});
  if (extras.retryable && failure.retryable) json.field("retryable", true);
  if (extras.details && !failure.details.empty()) json.field("details", std::string_view{failure.details});
  if (extras.attempt && failure.attempt != 0) json.field("attempt", failure.attempt);
  if (extras.timeout && failure.timeout) json.field("timeout", to_string(*failure.timeout));
}

void write_application(base::JsonWriter& json, const Failure& failure, std::string_view thrower) {
  const bool is_cancelled = failure.kind == FailureKind::cancelled;
  const bool is_timeout = failure.kind == FailureKind::timeout;
  const bool is_panic = !is_cancelled && !is_timeout && failure.type == panicked;
  json.key("kind");
  if (is_cancelled) {
    json.begin_object();
    json.key("Cancelled");
    json.begin_object();
    json.field("reason", std::string_view{failure.message});
    json.end_object();
    json.end_object();
  } else if (is_timeout) {
    json.begin_object();
    json.key("Timeout");
    json.begin_object();
    if (failure.timeout) json.field("which", to_string(*failure.timeout));
    json.end_object();
    json.end_object();
  } else {
    json.value(is_panic ? panicked : thrower);
  }
  json.field("message", is_cancelled ? std::string_view{} : std::string_view{failure.message});
  json.field("retryable", failure.retryable);
  write_extras(json, failure, {.type = !is_panic, .timeout = !is_timeout});
}

void write_poison(base::JsonWriter& json, const Failure& failure) {
  const bool apart = is_poison_details(failure.details);
  json.field("attempt_count", failure.attempt);
  if (apart) {
    const JsonDocument details{failure.details};
    json.key("max_attempts");
    json.raw(details.root().find("max_attempts")->text());
    json.key("message_type");
    json.raw(details.root().find("message_type")->text());
  }
  json.field("message", std::string_view{failure.message});
  write_extras(json, failure, {.type = true, .retryable = true, .attempt = false, .details = !apart});
}

void read_timeout(base::ObjectReader& fields, std::string_view name, std::optional<TimeoutKind>& out) {
  std::string text;
  if (!fields.optional(name, text) || !fields.ok()) return;
  out = parse_timeout_kind(text);
  if (!out) fields.fail_field(name, "is not a timeout: '" + text + "'");
}

void read_extras(base::ObjectReader& fields, Failure& out) {
  fields.optional("type", out.type);
  fields.optional("retryable", out.retryable);
  fields.optional("details", out.details);
  fields.optional("attempt", out.attempt);
  read_timeout(fields, "timeout", out.timeout);
}

void read_application(base::ObjectReader& fields, Failure& out, std::string& problem) {
  fields.required("message", out.message);
  fields.required("retryable", out.retryable);
  const auto kind = fields.require("kind");
  if (!kind) return;
  if (const auto name = kind->string()) {
    if (*name == panicked) {
      out.type = panicked;
    } else if (*name != "ActivityFailed" && *name != "OrchestrationFailed") {
      return fields.fail_field("kind", "is not known: '" + std::string{*name} + "'");
    }
  } else if (const auto cancelled = kind->find("Cancelled")) {
    out.kind = FailureKind::cancelled;
    base::ObjectReader{*cancelled, problem}.required("reason", out.message);
  } else if (const auto timeout = kind->find("Timeout")) {
    out.kind = FailureKind::timeout;
    base::ObjectReader which{*timeout, problem};
    read_timeout(which, "which", out.timeout);
  } else {
    return fields.fail_field("kind", "is not known: " + kind->text());
  }
  read_extras(fields, out);
}

void read_poison(base::ObjectReader& fields, const JsonValue& object, Failure& out) {
  out.kind = FailureKind::poison;
  fields.required("attempt_count", out.attempt);
  fields.required("message", out.message);
  out.details = poison_details(object);
  read_extras(fields, out);
}

void read_configuration(base::ObjectReader& fields, Failure& out) {
  std::string kind;
  fields.required("kind", kind);
  if (kind == "Nondeterminism") {
    out.kind = FailureKind::nondeterminism;
  } else if (kind == "Limit") {
    out.kind = FailureKind::limit;
  } else {
    return fields.fail_field("kind", "is not known: '" + kind + "'");
  }
  fields.required("resource", out.type);
  fields.optional("message", out.message);  // the contract allows null
  read_extras(fields, out);
}

void read_infrastructure(base::ObjectReader& fields, Failure& out) {
  out.kind = FailureKind::infrastructure;
  fields.required("operation", out.type);
  fields.required("message", out.message);
  fields.required("retryable", out.retryable);
  read_extras(fields, out);
}

}  // namespace

void write_failure(base::JsonWriter& json, const Failure& failure, std::string_view thrower) {
  json.begin_object();
  switch (failure.kind) {
    case FailureKind::application:
    case FailureKind::timeout:
    case FailureKind::cancelled:
      json.key("Application");
      json.begin_object();
      write_application(json, failure, thrower);
      break;
    case FailureKind::poison:
      json.key("Poison");
      json.begin_object();
      write_poison(json, failure);
      break;
    case FailureKind::nondeterminism:
    case FailureKind::limit:
      json.key("Configuration");
      json.begin_object();
      json.field("kind", failure.kind == FailureKind::limit ? "Limit" : "Nondeterminism");
      json.field("resource", std::string_view{failure.type});
      json.field("message", std::string_view{failure.message});
      write_extras(json, failure, {.retryable = true});
      break;
    case FailureKind::infrastructure:
      json.key("Infrastructure");
      json.begin_object();
      json.field("operation", std::string_view{failure.type});
      json.field("message", std::string_view{failure.message});
      json.field("retryable", failure.retryable);
      write_extras(json, failure, {});
      break;
  }
  json.end_object();
  json.end_object();
}

void read_failure(const JsonValue& value, Failure& out, std::string& problem) {
  JsonCursor variant{value};
  if (value.kind() != JsonKind::object || !variant.next()) {
    if (problem.empty()) problem = "expected a failure, found " + value.text();
    return;
  }
  const std::string_view tag = variant.key();
  const JsonValue object = variant.value();
  out = Failure{};
  base::ObjectReader fields{object, problem};
  if (tag == "Application") return read_application(fields, out, problem);
  if (tag == "Poison") return read_poison(fields, object, out);
  if (tag == "Configuration") return read_configuration(fields, out);
  if (tag == "Infrastructure") return read_infrastructure(fields, out);
  fields.fail("unknown kind of failure '" + std::string{tag} + "'");
}

void write_stored_failure(base::JsonWriter& json, const Failure& failure) {
  json.begin_object();
  json.field("k", to_string(failure.kind));
  if (!failure.type.empty()) json.field("y", std::string_view{failure.type});
  if (!failure.message.empty()) json.field("m", std::string_view{failure.message});
  if (failure.retryable) json.field("r", true);
  if (!failure.details.empty()) json.field("d", std::string_view{failure.details});
  if (failure.attempt != 0) json.field("a", failure.attempt);
  if (failure.timeout) json.field("w", to_string(*failure.timeout));
  json.end_object();
}

void read_stored_failure(const JsonValue& value, Failure& out, std::string& problem) {
  out = Failure{};
  base::ObjectReader fields{value, problem};
  std::string kind;
  fields.required("k", kind);
  if (const auto known = parse_failure_kind(kind)) {
    out.kind = *known;
  } else {
    fields.fail_field("k", "is not a kind of failure: '" + kind + "'");
  }
  fields.optional("y", out.type);
  fields.optional("m", out.message);
  fields.optional("r", out.retryable);
  fields.optional("d", out.details);
  fields.optional("a", out.attempt);
  read_timeout(fields, "w", out.timeout);
}

}  // namespace duramen::format
