#include <duramen/recorded_history.hpp>

#include "base/object_reader.hpp"

#include <istream>
#include <utility>

namespace duramen::inline v0 {

bool RecordedInstance::has_ended() const noexcept {
  if (executions.empty() || executions.back().events.empty()) return false;
  const Event& last = executions.back().events.back();
  return event_class(last) == EventClass::terminal &&
         !std::holds_alternative<event::OrchestrationContinuedAsNew>(last.body);
}

std::string to_json_lines(const RecordedInstance& recorded) {
  std::string lines;
  for (const RecordedExecution& execution : recorded.executions) {
    for (const Event& event : execution.events) {
      lines += to_json(event, EventContext{recorded.instance, execution.execution});
      lines += '\n';
    }
  }
  return lines;
}

RecordedHistoryReader::RecordedHistoryReader(std::istream& stream, std::string name)
    : stream_(stream), name_(std::move(name)) {}

Error RecordedHistoryReader::corrupt_line(std::string what) const {
  return Error{ErrorCode::corrupt, "read_recorded_history",
               name_ + ", line " + std::to_string(line_) + ": " + std::move(what), false};
}

Result<std::optional<RecordedHistoryReader::Line>> RecordedHistoryReader::read_line() {
  std::string text;
  do {
    if (!std::getline(stream_, text)) return std::optional<Line>{};
    ++line_;
    if (!text.empty() && text.back() == '\r') text.pop_back();
  } while (text.empty());

  const detail::JsonDocument document{text};
  if (!document.error().empty()) return corrupt_line("not JSON: " + std::string(document.error()));
  Line line;
  std::string problem;
  base::ObjectReader envelope{document.root(), problem};
  envelope.required("instance_id", line.instance.value);
  envelope.required("execution_id", line.execution.value);
  if (!problem.empty()) return corrupt_line("not an event: " + problem);
  Result<Event> event = event_from_json(text, EventContext{line.instance, line.execution});
  if (!event) return corrupt_line(event.error().message);
  line.event = *std::move(event);
  return std::optional<Line>{std::move(line)};
}

/// Skips the rest of an instance after an error in it, whatever it contains.
void RecordedHistoryReader::skip_instance(const InstanceId& instance) {
  while (true) {
    auto line = read_line();
    if (!line) continue;
    if (!*line) return;
    if ((*line)->instance != instance) {
      ahead_ = std::move(*line);
      return;
    }
  }
}

Result<std::optional<RecordedInstance>> RecordedHistoryReader::next() {
  std::optional<Line> line = std::exchange(ahead_, std::nullopt);
  if (!line) {
    auto first = read_line();
    if (!first) return first.error();
    if (!*first) return std::optional<RecordedInstance>{};
    line = std::move(*first);
  }
  RecordedInstance recorded{line->instance, {}};
  const auto give_up = [&](Error error) {
    skip_instance(recorded.instance);
    return error;
  };
  while (line && line->instance == recorded.instance) {
    if (recorded.executions.empty() || recorded.executions.back().execution != line->execution) {
      if (!recorded.executions.empty() && line->execution != recorded.executions.back().execution.next()) {
        return give_up(corrupt_line("execution " + std::to_string(line->execution.value) + " of \"" +
                                    recorded.instance.value + "\" follows execution " +
                                    std::to_string(recorded.executions.back().execution.value)));
      }
      recorded.executions.push_back({line->execution, {}});
    }
    std::vector<Event>& events = recorded.executions.back().events;
    const EventId expected = events.empty() ? EventId{1} : events.back().id.next();
    if (line->event.id != expected) {
      return give_up(corrupt_line("event " + std::to_string(line->event.id.value) + " stands where event " +
                                  std::to_string(expected.value) + " of \"" + recorded.instance.value +
                                  "\" should be; are lines missing, or in another order?"));
    }
    events.push_back(std::move(line->event));
    auto following = read_line();
    if (!following) return give_up(following.error());
    line = std::move(*following);
  }
  ahead_ = std::move(line);
  return std::optional<RecordedInstance>{std::move(recorded)};
}

}  // namespace duramen::inline v0
