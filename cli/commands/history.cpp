// duramen history: the events of an instance.
#include "changes.hpp"
#include "commands.hpp"
#include "text.hpp"
#include "values.hpp"

namespace duramen::cli {

namespace {

/// The events of one execution, shown in parts.
class HistoryView {
 public:
  HistoryView(InstanceId instance, ExecutionId execution)
      : instance_(std::move(instance)), execution_(execution) {}

  [[nodiscard]] EventId last() const noexcept { return last_; }

  /// `titles`: the table begins here. Later parts keep the widths of a table of any event.
  Answer show(const std::vector<Event>& events, bool titles) {
    Answer answer;
    Table table;
    table.columns = {{.title = titles ? "#" : "", .right = true, .at_least = 3},
                     {.title = titles ? "TIME" : "", .right = true, .at_least = 8},
                     {.title = titles ? "EVENT" : "", .may_shrink_to = 18, .at_least = 18},
                     {.title = titles ? "DETAILS" : "", .may_shrink_to = 20, .wraps = true}};
    table.titles = titles;
    for (const Event& event : events) {
      if (!last_) began_ = event.timestamp;
      last_ = event.id;
      table.rows.push_back({std::to_string(event.id.value),
                            offset(event.timestamp - began_),
                            {std::string(event_type(event)), EventDescriber::tone_of(event)},
                            description_.describe(event)});
      answer.documents.push_back(Json::raw(to_json(event, EventContext{instance_, execution_})));
    }
    answer.page.emplace_back(std::move(table));
    return answer;
  }

  [[nodiscard]] Text headline() const {
    return {instance_.value + ", execution " + std::to_string(execution_.value) + ", from " +
                date_and_time(began_) + " UTC",
            Tone::strong};
  }

 private:
  InstanceId instance_;
  ExecutionId execution_;
  EventDescriber description_;
  EventId last_;
  TimePoint began_;
};

Answer whole(const InstanceId& instance, ExecutionId execution, const std::vector<Event>& events) {
  HistoryView view(instance, execution);
  Answer answer = view.show(events, true);
  if (events.empty()) {
    answer.page.clear();
    answer.notes.push_back("execution " + std::to_string(execution.value) + " has no events yet");
  } else {
    answer.page.insert(answer.page.begin(), view.headline());
  }
  return answer;
}

Result<Answer> every_execution(Session& session, const InstanceId& instance) {
  Result<std::vector<ExecutionInfo>> executions = session.client.list_executions(instance);
  if (!executions) return executions.error();
  Answer all;
  for (const ExecutionInfo& execution : *executions) {
    Result<std::vector<Event>> events = session.client.read_history(instance, execution.execution);
    if (!events && events.error().code == ErrorCode::corrupt) {
      all.leave_out("execution " + std::to_string(execution.execution.value) +
                    " was left out, as it cannot be read: " + events.error().message);
      continue;
    }
    if (!events) return events.error();
    Answer one = whole(instance, execution.execution, *events);
    for (Block& block : one.page) all.page.push_back(std::move(block));
    for (Json& document : one.documents) all.documents.push_back(std::move(document));
  }
  return all;
}

/// Shows new events as they arrive, over continue-as-new, until the instance has ended.
Result<Answer> follow(Session& session, const InstanceId& instance) {
  Changes changes(session.provider());  // before the first read: misses nothing
  std::optional<HistoryView> view;
  ExecutionId current;
  while (true) {
    // The instance first: if it has ended, all of its events are stored.
    Result<InstanceInfo> info = session.client.get_instance(instance);
    if (!info) return info.error();
    if (!current) current = info->execution;
    for (; current <= info->execution; current = current.next(), view.reset()) {
      const bool begins = !view;
      if (begins) view.emplace(instance, current);
      Result<std::vector<Event>> events = session.provider().read_history(instance, current, view->last());
      if (!events) return events.error();
      if (events->empty() && begins) view.reset();
      if (!events->empty()) {
        Answer part = view->show(*events, begins);
        if (begins) part.page.insert(part.page.begin(), view->headline());
        if (!session.context.emit(part)) return Answer{};
      }
      if (current == info->execution) break;
    }
    if (is_final(info->status)) return Answer{};
    changes.wait(std::chrono::seconds{1});
  }
}

}  // namespace

Result<Answer> run(Session& session, const HistoryArguments& arguments) {
  if (arguments.follow) return follow(session, arguments.instance);
  if (arguments.every_execution) return every_execution(session, arguments.instance);
  Result<std::vector<ExecutionInfo>> executions = session.client.list_executions(arguments.instance);
  if (!executions) return executions.error();
  const ExecutionId execution = arguments.execution.value_or(executions->back().execution);
  Result<std::vector<Event>> events = session.client.read_history(arguments.instance, execution);
  if (!events) return events.error();
  return whole(arguments.instance, execution, *events);
}

}  // namespace duramen::cli
