// Exports instances from a store and imports them into another.
//
// An import makes the commits that a runtime would have made, one per execution: the first creates the
// instance, each further one continues where the previous one ended. None of them leaves work behind, so no
// node ever sees it.
#include "base/overloaded.hpp"
#include "client/arguments.hpp"
#include "client/errors.hpp"
#include "client/impl.hpp"
#include "store/answers.hpp"
#include <duramen/client.hpp>

#include <random>
#include <utility>

namespace duramen::inline v0 {

namespace {

constexpr const char* import_operation = "import_instance";

CommitToken random_token() {
  std::random_device device;
  const std::uint64_t high = device();
  return CommitToken{((high << 32u) | device()) >> 1u};
}

/// The state of the instance after the execution, derived from its events.
class Effects {
 public:
  explicit Effects(const std::vector<Event>& events) {
    for (const Event& event : events) add(event);
  }
  InstanceChange change;

 private:
  void add(const Event& event) {
    std::visit(
        Overloaded{
            [&](const event::OrchestrationStarted& e) {
              change.version = e.version;
              change.engine_version = e.engine_version;
              change.parent = e.parent;
              change.graceful = e.graceful;
              if (e.cancel) cancel_asked(e.cancel->mode);
              if (e.initial_custom_status) change.custom_status = CustomStatusChange{e.initial_custom_status};
            },
            [&](const event::OrchestrationCancelRequested& e) { cancel_asked(e.mode); },
            [&](const event::CustomStatusUpdated& e) { change.custom_status = CustomStatusChange{e.status}; },
            [&](const event::KeyValueSet& e) {
              change.key_values.push_back({e.key, e.value, e.last_updated_at});
            },
            [&](const event::KeyValueCleared& e) {
              change.key_values.push_back({e.key, std::nullopt, event.timestamp});
            },
            [&](const event::KeyValuesCleared&) {
              change.key_values.push_back({std::nullopt, std::nullopt, event.timestamp});
            },
            [&](const event::OrchestrationCompleted& e) {
              change.status = Status::completed;
              change.output = e.output;
            },
            [&](const event::OrchestrationFailed& e) {
              const bool cancelled = change.cancel_asked && e.details.kind == FailureKind::cancelled;
              change.status = cancelled ? Status::cancelled : Status::failed;
              change.failure = e.details;
            },
            [&](const event::OrchestrationContinuedAsNew&) { change.status = Status::continued_as_new; },
            [](const auto&) {},
        },
        event.body);
  }

  void cancel_asked(CancelMode mode) {
    change.cancel_asked = std::max(mode, change.cancel_asked.value_or(CancelMode::graceful));
  }
};

const event::OrchestrationStarted* start_of(const RecordedExecution& execution) {
  return execution.events.empty() ? nullptr
                                  : std::get_if<event::OrchestrationStarted>(&execution.events.front().body);
}

/// The reason why it cannot be stored unchanged; empty if it can.
std::string obstacle(const RecordedInstance& recorded) {
  if (!recorded.has_ended()) return "has not ended; work in progress cannot be imported";
  if (recorded.executions.front().execution != ExecutionId{1}) {
    return "begins with execution " + std::to_string(recorded.executions.front().execution.value) +
           ": the ones before were pruned, so it cannot be stored as it was";
  }
  ExecutionId expected{1};
  for (const RecordedExecution& execution : recorded.executions) {
    const bool last = &execution == &recorded.executions.back();
    if (execution.execution != expected) return "lacks execution " + std::to_string(expected.value);
    if (start_of(execution) == nullptr) {
      return "has an execution that does not begin with OrchestrationStarted: " +
             std::to_string(expected.value);
    }
    if (!last && !std::holds_alternative<event::OrchestrationContinuedAsNew>(execution.events.back().body)) {
      return "goes on after execution " + std::to_string(expected.value) + ", which did not continue as new";
    }
    EventId event;
    for (const Event& e : execution.events) {
      if (e.id != event.next()) return "lacks event " + std::to_string(event.next().value);
      event = e.id;
    }
    expected = expected.next();
  }
  return {};
}

}  // namespace

Result<RecordedInstance> Client::export_instance(const InstanceId& instance) {
  Result<std::vector<ExecutionInfo>> executions = list_executions(instance);
  if (!executions) return executions.error();
  RecordedInstance recorded{instance, {}};
  for (const ExecutionInfo& info : *executions) {
    auto events = impl_->provider.read_history(instance, info.execution, EventId{});
    if (!events) return events.error();
    if (!events->empty()) recorded.executions.push_back({info.execution, *std::move(events)});
  }
  return recorded;
}

Result<void> Client::check_import(const RecordedInstance& recorded) {
  if (Result<void> ok = client::check_instance(import_operation, recorded.instance); !ok) return ok.error();
  if (const std::string why = obstacle(recorded); !why.empty()) {
    return client::bad_argument(import_operation, "\"" + recorded.instance.value + "\" " + why);
  }
  return {};
}

Result<ImportOutcome> Client::import_instance(RecordedInstance recorded) {
  if (Result<void> ok = check_import(recorded); !ok) return ok.error();
  // Incarnation numbers are specific to each store.
  const auto& parent = start_of(recorded.executions.front())->parent;
  Incarnation parent_here;
  if (parent) {
    auto found = impl_->provider.get_instance(parent->instance);
    if (!found) return found.error();
    if (*found) parent_here = (*found)->incarnation;
  }

  TurnCommit commit;
  for (RecordedExecution& execution : recorded.executions) {
    auto& started = std::get<event::OrchestrationStarted>(execution.events.front().body);
    if (started.parent) started.parent->incarnation = parent_here;
    const EventId before = commit.events.empty() ? EventId{} : commit.events.back().id;
    const bool first = execution.execution == ExecutionId{1};
    commit.token = random_token();
    commit.node = NodeId("import");
    commit.instance = recorded.instance;
    commit.execution = execution.execution;
    commit.change = Effects(execution.events).change;
    if (first) {
      StartRequest request;
      request.instance = recorded.instance;
      request.start = {started.name,   started.input,        started.version,
                       started.parent, started.requested_by, started.depth};
      commit.basis = FusedStart{std::move(request)};
    } else {
      commit.basis = ConditionalLease{before};
      commit.change.parent.reset();
    }
    commit.events = std::move(execution.events);

    const auto answer = base::the_one(import_operation, impl_->provider.commit_turns(std::span(&commit, 1)));
    if (!answer) return answer.error();
    const CommitResult& result = *answer;
    if (first && result.outcome == CommitOutcome::start_refused) return ImportOutcome::exists;
    if (result.outcome == CommitOutcome::invalid) {
      return client::bad_argument(import_operation, "the store cannot hold execution " +
                                                        std::to_string(commit.execution.value) + " of \"" +
                                                        recorded.instance.value + "\": " + result.message);
    }
    if (result.outcome != CommitOutcome::committed) {
      return Error{
          ErrorCode::conflict, import_operation,
          "\"" + recorded.instance.value + "\" changed while it was imported; delete it and try again",
          false};
    }
    commit.incarnation = result.incarnation;
  }
  return ImportOutcome::imported;
}

}  // namespace duramen::inline v0
