// Instances and events as text and JSON, shared by several commands.
#pragma once

#include "answer.hpp"
#include <duramen/client.hpp>

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace duramen::cli {

[[nodiscard]] Cell status_cell(Status status);
/// The same, or that the instance is unreadable.
[[nodiscard]] Cell status_cell(const InstanceInfo& info);
/// True if the error affects only this instance: damaged rows, or an invalid id. Commands for many go on.
[[nodiscard]] bool is_damage(const Error& error);
/// Reports an unreadable instance as left out.
void leave_out_unreadable(Answer& answer, const InstanceInfo& info);
/// "graceful" or "terminate".
[[nodiscard]] std::string_view mode_name(CancelMode mode);
/// "Checkout 1.2.0".
[[nodiscard]] std::string code_of(const std::string& name, const std::string& version);
/// A payload on one line: JSON unchanged, text in quotes; about `limit` bytes at most.
[[nodiscard]] std::string in_short(const Payload& payload, std::size_t limit = 200);
/// The part of a failure that its status does not show; may be empty.
[[nodiscard]] std::string failure_detail(Status status, const Failure& failure);
/// "1 instance", "3 instances".
[[nodiscard]] std::string count(std::size_t n, const std::string& what);
/// "a, b, c and 4 more".
[[nodiscard]] std::string some_of(const std::vector<InstanceId>& ids);

[[nodiscard]] Json to_json(const InstanceInfo& info, bool with_results);
[[nodiscard]] Json to_json(const Failure& failure);
void add_payload(JsonObject& to, const std::string& name, const std::optional<Payload>& payload);

/// Describes events. Remembers schedule events, because their answers only have the event number.
class EventDescriber {
 public:
  [[nodiscard]] std::string describe(const Event& event);
  [[nodiscard]] static Tone tone_of(const Event& event);

 private:
  std::map<EventId, std::string> subjects_;
};

}  // namespace duramen::cli
