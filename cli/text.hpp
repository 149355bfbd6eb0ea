// Instances and events in words and in JSON: what several commands say in the same way.
#pragma once

#include "answer.hpp"
#include <duramen/client.hpp>

#include <map>
#include <span>
#include <string>

namespace duramen::cli {

[[nodiscard]] Cell status_cell(Status status);
/// The same, or that it cannot be read.
[[nodiscard]] Cell status_cell(const InstanceInfo& info);
/// The error is about this one instance: its rows are damaged, or its id is none. Commands for many go on.
[[nodiscard]] bool is_damage(const Error& error);
/// Names the instance among what was left out, if it cannot be read.
void leave_out_unreadable(Answer& answer, const InstanceInfo& info);
/// "Checkout 1.2.0".
[[nodiscard]] std::string code_of(const std::string& name, const std::string& version);
/// A payload on one line: JSON as it is, text in quotes; at most about `limit` bytes.
[[nodiscard]] std::string in_short(const Payload& payload, std::size_t limit = 200);
/// What a failure says beside a status that is told already; empty if that is all there is to say.
[[nodiscard]] std::string beside(Status status, const Failure& failure);
/// "1 instance", "3 instances".
[[nodiscard]] std::string count(std::size_t n, const std::string& what);
/// "a, b, c and 4 more".
[[nodiscard]] std::string some_of(const std::vector<InstanceId>& ids);

[[nodiscard]] Json to_json(const InstanceInfo& info, bool with_results);
[[nodiscard]] Json to_json(const Failure& failure);
void add_payload(JsonObject& to, const std::string& name, const std::optional<Payload>& payload);

/// Tells events in words; remembers what schedule events were about, as their answers only name the event.
class EventTeller {
 public:
  [[nodiscard]] std::string tell(const Event& event);
  [[nodiscard]] static Tone tone_of(const Event& event);

 private:
  std::map<EventId, std::string> subjects_;
};

}  // namespace duramen::cli
