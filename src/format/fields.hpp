// One vocabulary for the fields of events and messages, in both directions and both forms.
//
// event_fields.hpp and message_fields.hpp list the fields of each kind once. FieldWriter and FieldReader
// apply the list to interchange JSON (long names, the contract's rules for null) and to the stored form
// (short names, defaults left out).
#pragma once

#include "base/enum_names.hpp"
#include "base/json_writer.hpp"
#include "base/object_reader.hpp"
#include "format/failure_json.hpp"
#include <duramen/history.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace duramen::format {

enum class Form : std::uint8_t { interchange, stored };

/// A field's name in interchange JSON and in the stored form.
struct Key {
  std::string_view name;
  std::string_view stored = {};

  [[nodiscard]] constexpr std::string_view in(Form form) const {
    return form == Form::interchange ? name : stored;
  }
};

/// The encoding of a payload: interchange has a second field, "input_encoding":"json"; in the stored form the
/// key marks it: "ij". Text is the default and is not marked.
[[nodiscard]] constexpr std::string_view json_suffix(Form form) {
  return form == Form::interchange ? std::string_view{"_encoding"} : std::string_view{"j"};
}

void write_options(base::JsonWriter& json, std::string_view key, const ActivityOptions& options);
void read_options(const detail::JsonValue& value, ActivityOptions& out, std::string& problem);

/// [["inbox","m1"], ["approved","true",{"encoding":"json","kind":"external"}]]
void write_carried(base::JsonWriter& json, const std::vector<CarriedEvent>& events);
void read_carried(const detail::JsonValue& value, std::vector<CarriedEvent>& out, std::string& problem);

/// Stored: "p":["order-1",incarnation,execution,event].
void write_stored_parent(base::JsonWriter& json, const ParentLink& parent);
void read_stored_parent(const detail::JsonValue& value, ParentLink& out, std::string& problem);

/// Stored: "ran":[start in Unix ms,attempt,"node"].
void write_stored_attempt(base::JsonWriter& json, const AttemptInfo& ran);
void read_stored_attempt(const detail::JsonValue& value, AttemptInfo& out, std::string& problem);

/// The contract's `orchestration_terminal` has no detail about the end; it is read as
/// `..._completed`.
[[nodiscard]] std::optional<CancelReason> read_reason(std::string_view text) noexcept;

/// The description of one kind: `tag`, and `visit(fields, body)`. Specialised in event_fields.hpp and
/// message_fields.hpp.
template <class Body>
struct Describe;

template <Form form>
class FieldWriter {
 public:
  explicit FieldWriter(base::JsonWriter& json) : json_(json) {}

  void text(Key key, const std::string& value) { json_.field(key.in(form), std::string_view{value}); }
  void text(Key key, const InstanceId& value) { text(key, value.value); }
  /// Left out when absent.
  void optional_text(Key key, const std::optional<std::string>& value) {
    if (value) text(key, *value);
  }
  /// Left out when empty.
  void text_or_empty(Key key, const std::string& value) {
    if (!value.empty()) text(key, value);
  }
  /// In interchange, null when absent.
  void nullable_text(Key key, const std::optional<std::string>& value) {
    if (value) return text(key, *value);
    if constexpr (form == Form::interchange) {
      json_.key(key.name);
      json_.null();
    }
  }
  void payload(Key key, const Payload& value) {
    if constexpr (form == Form::interchange) {
      json_.field(key.name, std::string_view{value.data});
      if (value.encoding != Encoding::text) {
        json_.key(key.name, json_suffix(form));
        json_.value(to_string(value.encoding));
      }
    } else {
      json_.key(key.stored, value.encoding == Encoding::json ? json_suffix(form) : std::string_view{});
      json_.value(std::string_view{value.data});
    }
  }
  /// Left out when absent.
  void optional_payload(Key key, const std::optional<Payload>& value) {
    if (value) payload(key, *value);
  }
  void time(Key key, const TimePoint& value) { json_.field(key.in(form), to_unix_ms(value)); }
  void time_or_zero(Key key, const TimePoint& value) { time(key, value); }
  template <class Tag>
  void number(Key key, const Number<Tag>& value) {
    json_.field(key.in(form), value.value);
  }
  template <class Tag>
  void number_or_zero(Key key, const Number<Tag>& value) {
    if (value) number(key, value);
  }
  /// Left out when 0.
  template <std::unsigned_integral T>
  void count(Key key, const T& value) {
    if (value != 0) json_.field(key.in(form), value);
  }
  /// Left out when it is `usual`.
  template <std::unsigned_integral T>
  void limit(Key key, const T& value, T usual) {
    if (value != usual) json_.field(key.in(form), value);
  }
  void engine_version(Key key, const std::uint32_t& value) { json_.field(key.in(form), value); }
  /// Left out when false.
  void flag(Key key, const bool& value) {
    if (value) json_.field(key.in(form), true);
  }
  /// An enumeration, left out when it is `usual`.
  template <class E>
  void choice(Key key, const E& value, E usual) {
    if (value != usual) json_.field(key.in(form), base::name(value));
  }
  void reason(Key key, const CancelReason& value) { json_.field(key.in(form), to_string(value)); }
  void options(Key key, const ActivityOptions& value) {
    if (value != ActivityOptions{}) write_options(json_, key.in(form), value);
  }
  /// Left out when empty.
  void carried(Key key, const std::vector<CarriedEvent>& value) {
    if (!value.empty()) carried_always(key, value);
  }
  void carried_always(Key key, const std::vector<CarriedEvent>& value) {
    json_.key(key.in(form));
    write_carried(json_, value);
  }
  void failure(Key key, const Failure& value, std::string_view thrower) {
    json_.key(key.in(form));
    if constexpr (form == Form::interchange) {
      write_failure(json_, value, thrower);
    } else {
      write_stored_failure(json_, value);
    }
  }
  /// In interchange started_at_ms, attempt and node. Left out when empty.
  void ran(const AttemptInfo& value) {
    if (value == AttemptInfo{}) return;
    if constexpr (form == Form::interchange) {
      json_.field("started_at_ms", to_unix_ms(value.started_at));
      json_.field("attempt", value.attempt);
      json_.field("node", std::string_view{value.node.value});
    } else {
      json_.key("ran");
      write_stored_attempt(json_, value);
    }
  }
  /// The fields of another kind, as an object. Left out when absent.
  template <class Body>
  void object(Key key, const std::optional<Body>& value) {
    if (!value) return;
    json_.key(key.in(form));
    json_.begin_object();
    Describe<Body>::visit(*this, *value);
    json_.end_object();
  }
  /// In interchange parent_instance and parent_id, null when absent; then our additional fields.
  void parent(const std::optional<ParentLink>& value) {
    if (value || form == Form::stored) return optional_parent(value);
    json_.key("parent_instance");
    json_.null();
    json_.key("parent_id");
    json_.null();
  }
  void optional_parent(const std::optional<ParentLink>& value) {
    if (!value) return;
    if constexpr (form == Form::interchange) {
      text({"parent_instance"}, value->instance);
      number({"parent_id"}, value->event);
      number_or_zero({"parent_execution_id"}, value->execution);
      number_or_zero({"parent_incarnation"}, value->incarnation);
    } else {
      json_.key("p");
      write_stored_parent(json_, *value);
    }
  }
  /// The contract has this number; Duramen does not use it.
  void constant(Key key, std::uint64_t value) { json_.field(key.in(form), value); }

 private:
  base::JsonWriter& json_;
};

template <Form form>
class FieldReader {
 public:
  /// `problem` is the string that `object` reports to.
  FieldReader(base::ObjectReader& object, std::string& problem) : fields_(object), problem_(problem) {}

  void text(Key key, std::string& out) { fields_.required(key.in(form), out); }
  void text(Key key, InstanceId& out) { text(key, out.value); }
  void optional_text(Key key, std::optional<std::string>& out) {
    std::string value;
    if (fields_.optional(key.in(form), value)) out = std::move(value);
  }
  void text_or_empty(Key key, std::string& out) { fields_.optional(key.in(form), out); }
  void nullable_text(Key key, std::optional<std::string>& out) { optional_text(key, out); }
  void payload(Key key, Payload& out) {
    if constexpr (form == Form::interchange) {
      text(key, out.data);
      std::string encoding;
      const std::string name = std::string{key.name}.append(json_suffix(form));
      if (!fields_.optional(name, encoding) || encoding == "text") return;
      if (encoding != "json") return fields_.fail_field(name, "is not an encoding: '" + encoding + "'");
      out.encoding = Encoding::json;
    } else {
      if (fields_.optional(key.stored, out.data)) return;
      out.encoding = Encoding::json;
      fields_.required(std::string{key.stored}.append(json_suffix(form)), out.data);
    }
  }
  void optional_payload(Key key, std::optional<Payload>& out) {
    const std::string name{key.in(form)};
    const bool found = fields_.find(name) || (form == Form::stored && fields_.find(name + "j"));
    if (found) payload(key, out.emplace());
  }
  void time(Key key, TimePoint& out) {
    std::int64_t ms = 0;
    fields_.required(key.in(form), ms);
    out = from_unix_ms(ms);
  }
  void time_or_zero(Key key, TimePoint& out) {
    std::int64_t ms = 0;
    fields_.optional(key.in(form), ms);
    out = from_unix_ms(ms);
  }
  template <class Tag>
  void number(Key key, Number<Tag>& out) {
    fields_.required(key.in(form), out.value);
  }
  template <class Tag>
  void number_or_zero(Key key, Number<Tag>& out) {
    fields_.optional(key.in(form), out.value);
  }
  template <std::unsigned_integral T>
  void count(Key key, T& out) {
    fields_.optional(key.in(form), out);
  }
  template <std::unsigned_integral T>
  void limit(Key key, T& out, T usual) {
    out = usual;
    fields_.optional(key.in(form), out);
  }
  /// Histories of other engines lack it; they follow version 1 of the replay rules.
  void engine_version(Key key, std::uint32_t& out) {
    out = 1;
    fields_.optional(key.in(form), out);
  }
  void flag(Key key, bool& out) { fields_.optional(key.in(form), out); }
  template <class E>
  void choice(Key key, E& out, E usual) {
    out = usual;
    std::string value;
    if (!fields_.optional(key.in(form), value) || !fields_.ok()) return;
    if (!base::parse(value, out)) fields_.fail_field(key.in(form), "is not known: '" + value + "'");
  }
  void reason(Key key, CancelReason& out) {
    std::string value;
    fields_.required(key.in(form), value);
    if (!fields_.ok()) return;
    const auto known = read_reason(value);
    if (!known)
      return fields_.fail_field(key.in(form), "is not a reason for a cancellation: '" + value + "'");
    out = *known;
  }
  void options(Key key, ActivityOptions& out) {
    if (const auto value = fields_.find(key.in(form)))
      nested(key, [&] { read_options(*value, out, problem_); });
  }
  void carried(Key key, std::vector<CarriedEvent>& out) {
    if (const auto value = fields_.find(key.in(form)))
      nested(key, [&] { read_carried(*value, out, problem_); });
  }
  void carried_always(Key key, std::vector<CarriedEvent>& out) { carried(key, out); }
  void failure(Key key, Failure& out, std::string_view /*thrower*/) {
    const auto value = fields_.require(key.in(form));
    if (!value) return;
    nested(key, [&] {
      if constexpr (form == Form::interchange) {
        read_failure(*value, out, problem_);
      } else {
        read_stored_failure(*value, out, problem_);
      }
    });
  }
  void ran(AttemptInfo& out) {
    if constexpr (form == Form::interchange) {
      time_or_zero({"started_at_ms"}, out.started_at);
      count({"attempt"}, out.attempt);
      fields_.optional("node", out.node.value);
    } else if (const auto value = fields_.find("ran")) {
      nested({"ran", "ran"}, [&] { read_stored_attempt(*value, out, problem_); });
    }
  }
  template <class Body>
  void object(Key key, std::optional<Body>& out) {
    const auto value = fields_.find(key.in(form));
    if (!value) return;
    nested(key, [&] {
      base::ObjectReader members{*value, problem_};
      FieldReader inner{members, problem_};
      Describe<Body>::visit(inner, out.emplace());
    });
  }
  void parent(std::optional<ParentLink>& out) {
    ParentLink link;
    if constexpr (form == Form::interchange) {
      if (!fields_.optional("parent_instance", link.instance.value)) return;
      number_or_zero({"parent_id"}, link.event);
      number_or_zero({"parent_execution_id"}, link.execution);
      number_or_zero({"parent_incarnation"}, link.incarnation);
    } else {
      const auto value = fields_.find("p");
      if (!value) return;
      nested({"parent", "p"}, [&] { read_stored_parent(*value, link, problem_); });
    }
    out = std::move(link);
  }
  void optional_parent(std::optional<ParentLink>& out) { parent(out); }
  void constant(Key, std::uint64_t) {}

 private:
  // Prepends the field to a problem below it.
  template <class Read>
  void nested(Key key, Read read) {
    if (!fields_.ok()) return;
    read();
    if (!fields_.ok()) problem_ = "in field '" + std::string{key.in(form)} + "': " + problem_;
  }

  base::ObjectReader& fields_;
  std::string& problem_;
};

/// Makes the alternative of `Variant` whose tag is `tag`; false if none has it.
template <class Variant>
bool emplace_by_tag(Variant& variant, std::string_view tag) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return ((Describe<std::variant_alternative_t<I, Variant>>::tag == tag &&
             (variant.template emplace<I>(), true)) ||
            ...);
  }(std::make_index_sequence<std::variant_size_v<Variant>>{});
}

template <class Variant>
std::string_view tag_of(const Variant& variant) noexcept {
  return std::visit([]<class Body>(const Body&) { return Describe<Body>::tag; }, variant);
}

template <class Fields, class Variant>
void visit_fields(Fields& fields, Variant& variant) {
  std::visit([&]<class Body>(Body& body) { Describe<std::remove_const_t<Body>>::visit(fields, body); },
             variant);
}

}  // namespace duramen::format
