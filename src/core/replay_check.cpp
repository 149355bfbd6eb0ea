// Replays recorded histories with the code of this build, and reports where the two differ.
#include <duramen/replay_check.hpp>

#include "core/execution.hpp"

#include <istream>
#include <utility>

namespace duramen::inline v0 {

namespace {

using Kind = ReplayFinding::Kind;

/// True if the engine imposed the end: the code would not reach it.
bool imposed(const Failure& failure) {
  return failure.kind == FailureKind::nondeterminism || failure.kind == FailureKind::poison ||
         failure.kind == FailureKind::limit || failure.kind == FailureKind::infrastructure;
}

/// True if its last request ended the instance immediately, without running its code.
bool ended_without_code(std::span<const Event> history, std::size_t last_segment) {
  const auto* request = std::get_if<event::OrchestrationCancelRequested>(&history[last_segment].body);
  const auto* started = std::get_if<event::OrchestrationStarted>(&history.front().body);
  return request != nullptr && started != nullptr &&
         (!started->graceful || request->mode == CancelMode::terminate);
}

/// The part of a history that the code must repeat: all of it, or the part before it was ended from outside.
std::span<const Event> to_be_repeated(std::span<const Event> history) {
  const auto* failed = std::get_if<event::OrchestrationFailed>(&history.back().body);
  if (failed == nullptr) return history;
  const std::vector<std::size_t> segments = core::find_segments(history);
  if (imposed(failed->details)) return history.first(segments.back());
  if (!ended_without_code(history, segments.back())) return history;
  // Messages of the same turn as the request were recorded without running code.
  const TimePoint turn = history.back().timestamp;
  std::size_t end = history.size();
  for (auto at = segments.rbegin(); at != segments.rend() && history[*at].timestamp == turn; ++at) end = *at;
  return history.first(end);
}

class Check {
 public:
  Check(const Registry& registry, const ReplayCheckOptions& options)
      : registry_(registry), options_(options) {}

  ReplayReport run(const RecordedInstance& recorded) {
    report_.instances = 1;
    KeyValues key_values;
    for (const RecordedExecution& execution : recorded.executions) {
      finding_ = {};
      finding_.instance = recorded.instance;
      finding_.execution = execution.execution;
      ++report_.executions;
      report_.events += execution.events.size();
      replay(execution, key_values);
    }
    return std::move(report_);
  }

 private:
  void add(Kind kind, std::string message) {
    finding_.kind = kind;
    finding_.message = std::move(message);
    report_.findings.push_back(finding_);
  }

  void replay(const RecordedExecution& recorded, KeyValues& key_values) {
    const auto* started = recorded.events.empty()
                              ? nullptr
                              : std::get_if<event::OrchestrationStarted>(&recorded.events.front().body);
    if (started == nullptr)
      return add(Kind::unreadable, "its history does not begin with OrchestrationStarted");
    finding_.orchestration = started->name;
    finding_.version = started->version;
    if (started->engine_version > engine_version) {
      return add(Kind::unreadable, "it was recorded under the replay rules " +
                                       std::to_string(started->engine_version) +
                                       "; this build knows them up to " + std::to_string(engine_version));
    }
    auto handler = registry_.find_orchestration(started->name, started->version);
    if (!handler) {
      return add(Kind::no_code,
                 "this version of the orchestration is not registered: instances that run it would wait for "
                 "a node that "
                 "has it; keep it registered until they have ended");
    }

    core::ExecutionOptions how;
    how.key_values = key_values;
    how.repeat_end = true;
    using InputMismatch = core::ExecutionOptions::InputMismatch;
    how.input_mismatch = options_.tolerate_inputs ? InputMismatch::warn : InputMismatch::error;
    core::Execution execution(core::ExecutionIdentity{finding_.instance, Incarnation{1}, recorded.execution},
                              std::move(handler), std::move(how));
    core::TurnInput input;
    input.history = to_be_repeated(recorded.events);
    input.now = recorded.events.back().timestamp;
    const core::TurnOutcome outcome = execution.run_turn(input);
    for (const std::string& warning : outcome.warnings) add(Kind::tolerated, warning);
    if (const std::optional<Failure>& stopped = execution.stopped()) {
      add(stopped->type == "CorruptHistory" ? Kind::unreadable : Kind::nondeterminism, stopped->message);
    }
    key_values = execution.key_values();
  }

  const Registry& registry_;
  const ReplayCheckOptions& options_;
  ReplayReport report_;
  ReplayFinding finding_;  // known facts of the current execution
};

std::string_view in_words(Kind kind) {
  switch (kind) {
    case Kind::nondeterminism:
      return "does not replay";
    case Kind::no_code:
      return "has no code here";
    case Kind::unreadable:
      return "cannot be read";
    case Kind::tolerated:
      return "differs, but replays";
  }
  return "";
}

ReplayReport only(Kind kind, std::string message) {
  ReplayReport report;
  ReplayFinding finding;
  finding.kind = kind;
  finding.message = std::move(message);
  report.findings.push_back(std::move(finding));
  return report;
}

}  // namespace

std::string ReplayFinding::describe() const {
  if (instance.empty()) return message;
  std::string text = "\"" + instance.value + "\"";
  if (execution) text += ", execution " + std::to_string(execution.value);
  if (!orchestration.empty()) text += " (" + orchestration + " " + version + ")";
  return text + " " + std::string(in_words(kind)) + ": " + message;
}

bool ReplayReport::ok() const noexcept {
  for (const ReplayFinding& finding : findings) {
    if (finding.kind != Kind::tolerated) return false;
  }
  return true;
}

std::string ReplayReport::text() const {
  std::string lines;
  std::size_t errors = 0;
  for (const ReplayFinding& finding : findings) {
    errors += finding.kind != Kind::tolerated;
    lines += finding.describe() + "\n";
  }
  const auto count = [](std::size_t n, const char* what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
  };
  lines += count(instances, "instance") + ", " + count(executions, "execution") + ", " +
           count(events, "event") + " replayed: ";
  return lines + (errors == 0 ? "no difference that matters" : count(errors, "problem")) + "\n";
}

void append(ReplayReport& to, ReplayReport part) {
  to.instances += part.instances;
  to.executions += part.executions;
  to.events += part.events;
  for (ReplayFinding& finding : part.findings) to.findings.push_back(std::move(finding));
}

ReplayReport check_replay(const Registry& registry, const RecordedInstance& recorded,
                          const ReplayCheckOptions& options) {
  return Check(registry, options).run(recorded);
}

ReplayReport check_replay(const Registry& registry, std::istream& histories, const std::string& name,
                          const ReplayCheckOptions& options) {
  ReplayReport report;
  RecordedHistoryReader reader(histories, name);
  while (true) {
    auto recorded = reader.next();
    if (!recorded) {
      append(report, only(Kind::unreadable, recorded.error().message));
    } else if (*recorded) {
      append(report, check_replay(registry, **recorded, options));
    } else {
      return report;
    }
  }
}

}  // namespace duramen::inline v0
