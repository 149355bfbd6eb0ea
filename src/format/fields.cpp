#include "format/fields.hpp"

#include <array>
#include <limits>
#include <utility>

namespace duramen::format {
namespace {

using detail::JsonCursor;
using detail::JsonKind;
using detail::JsonValue;

using OptionMember = Duration ActivityOptions::*;
constexpr std::array<std::pair<std::string_view, OptionMember>, 3> option_names{{
    {"schedule_to_start_ms", &ActivityOptions::schedule_to_start},
    {"start_to_close_ms", &ActivityOptions::start_to_close},
    {"heartbeat_ms", &ActivityOptions::heartbeat},
}};

constexpr std::string_view external_kind = "external";
constexpr std::string_view queue_kind = "queue";

bool must_be(JsonKind kind, const JsonValue& value, std::string& problem) {
  if (!problem.empty()) return false;
  if (value.kind() == kind) return true;
  problem = "expected " + std::string{describe(kind)} + ", found " + std::string{describe(value.kind())};
  return false;
}

void read_carried_extras(const JsonValue& value, CarriedEvent& out, std::string& problem) {
  base::ObjectReader extras{value, problem};
  std::string encoding{to_string(Encoding::text)};
  std::string kind{queue_kind};
  extras.optional("encoding", encoding);
  extras.optional("kind", kind);
  std::string requested_by;
  if (extras.optional("requested_by", requested_by)) out.requested_by = std::move(requested_by);
  if (encoding == to_string(Encoding::json)) {
    out.data.encoding = Encoding::json;
  } else if (encoding != to_string(Encoding::text)) {
    extras.fail_field("encoding", "is not an encoding: '" + encoding + "'");
  }
  if (kind == external_kind) {
    out.kind = CarriedEvent::Kind::external;
  } else if (kind != queue_kind) {
    extras.fail_field("kind", "is not known: '" + kind + "'");
  }
}

void read_carried_element(const JsonValue& value, CarriedEvent& out, std::string& problem) {
  if (!must_be(JsonKind::array, value, problem)) return;
  JsonCursor parts{value};
  std::array<std::string*, 2> texts{&out.name, &out.data.data};
  for (std::string* text : texts) {
    if (!parts.next()) {
      problem = "expected [name, data], found " + value.text();
      return;
    }
    const auto found = parts.value().string();
    if (!found || found->find('\0') != std::string_view::npos) {
      problem = "expected [name, data], two strings without NUL, found " + value.text();
      return;
    }
    text->assign(*found);
  }
  if (parts.next()) read_carried_extras(parts.value(), out, problem);
}

}  // namespace

void write_options(base::JsonWriter& json, std::string_view key, const ActivityOptions& options) {
  json.key(key);
  json.begin_object();
  for (const auto& [name, member] : option_names) {
    if ((options.*member).count() != 0) json.field(name, (options.*member).count());
  }
  json.end_object();
}

void read_options(const JsonValue& value, ActivityOptions& out, std::string& problem) {
  base::ObjectReader fields{value, problem};
  for (const auto& [name, member] : option_names) {
    std::int64_t ms = 0;
    if (fields.optional(name, ms)) out.*member = Duration{ms};
  }
}

void write_carried(base::JsonWriter& json, const std::vector<CarriedEvent>& events) {
  json.begin_array();
  for (const CarriedEvent& event : events) {
    const bool is_json = event.data.encoding == Encoding::json;
    const bool is_external = event.kind == CarriedEvent::Kind::external;
    json.begin_array();
    json.value(std::string_view{event.name});
    json.value(std::string_view{event.data.data});
    if (is_json || is_external || event.requested_by) {
      json.begin_object();
      if (is_json) json.field("encoding", to_string(event.data.encoding));
      if (is_external) json.field("kind", external_kind);
      if (event.requested_by) json.field("requested_by", std::string_view{*event.requested_by});
      json.end_object();
    }
    json.end_array();
  }
  json.end_array();
}

void read_carried(const JsonValue& value, std::vector<CarriedEvent>& out, std::string& problem) {
  if (!must_be(JsonKind::array, value, problem)) return;
  for (JsonCursor elements{value}; problem.empty() && elements.next();) {
    read_carried_element(elements.value(), out.emplace_back(), problem);
  }
}

void write_stored_parent(base::JsonWriter& json, const ParentLink& parent) {
  json.begin_array();
  json.value(std::string_view{parent.instance.value});
  json.value(parent.incarnation.value);
  json.value(parent.execution.value);
  json.value(parent.event.value);
  json.end_array();
}

void read_stored_parent(const JsonValue& value, ParentLink& out, std::string& problem) {
  if (!must_be(JsonKind::array, value, problem)) return;
  JsonCursor parts{value};
  const auto instance = parts.next() ? parts.value().string() : std::nullopt;
  const auto incarnation = parts.next() ? parts.value().uint64() : std::nullopt;
  const auto execution = parts.next() ? parts.value().uint64() : std::nullopt;
  const auto event = parts.next() ? parts.value().uint64() : std::nullopt;
  if (!instance || !incarnation || !execution || !event) {
    problem = "expected [instance, incarnation, execution, event], found " + value.text();
    return;
  }
  out =
      ParentLink{InstanceId{*instance}, Incarnation{*incarnation}, ExecutionId{*execution}, EventId{*event}};
}

void write_stored_attempt(base::JsonWriter& json, const AttemptInfo& ran) {
  json.begin_array();
  json.value(to_unix_ms(ran.started_at));
  json.value(ran.attempt);
  json.value(std::string_view{ran.node.value});
  json.end_array();
}

void read_stored_attempt(const JsonValue& value, AttemptInfo& out, std::string& problem) {
  if (!must_be(JsonKind::array, value, problem)) return;
  JsonCursor parts{value};
  const auto started_at = parts.next() ? parts.value().int64() : std::nullopt;
  const auto attempt = parts.next() ? parts.value().uint64() : std::nullopt;
  const auto node = parts.next() ? parts.value().string() : std::nullopt;
  if (!started_at || !attempt || *attempt > std::numeric_limits<std::uint32_t>::max() || !node ||
      node->find('\0') != std::string_view::npos) {
    problem = "expected [start, attempt, node], found " + value.text();
    return;
  }
  out = AttemptInfo{from_unix_ms(*started_at), static_cast<std::uint32_t>(*attempt), NodeId{*node}};
}

std::optional<CancelReason> read_reason(std::string_view text) noexcept {
  if (text == "orchestration_terminal") return CancelReason::orchestration_terminal_completed;
  return parse_cancel_reason(text);
}

}  // namespace duramen::format
