#include "client/explanation_text.hpp"

#include "base/time_text.hpp"

namespace duramen::inline v0 {

std::string_view to_string(Waiting::Kind kind) noexcept {
  switch (kind) {
    case Waiting::Kind::activity:
      return "activity";
    case Waiting::Kind::timer:
      return "timer";
    case Waiting::Kind::event:
      return "event";
    case Waiting::Kind::queue:
      return "queue";
    case Waiting::Kind::child:
      return "child";
  }
  return "unknown";
}

std::string_view to_string(Explanation::Finding::Kind kind) noexcept {
  switch (kind) {
    case Explanation::Finding::Kind::stuck:
      return "stuck";
    case Explanation::Finding::Kind::let_go:
      return "let_go";
    case Explanation::Finding::Kind::unsent:
      return "unsent";
    case Explanation::Finding::Kind::orphan:
      return "orphan";
  }
  return "unknown";
}

namespace client {

namespace {

std::string_view in_words(Waiting::Kind kind) {
  if (kind == Waiting::Kind::queue) return "message on queue";
  if (kind == Waiting::Kind::child) return "sub-orchestration";
  return to_string(kind);
}

std::string describe(const CancelRequest& request, TimePoint now) {
  std::string text = "It was asked to stop ";
  if (request.by == CancelOrigin::client) {
    text += "by " + request.requested_by.value_or("a client");
  } else {
    text += "by its parent";
    if (request.parent) text += " \"" + request.parent->value + "\"";
  }
  text += " " + ago(request.at, now) + " (" + base::to_iso8601(request.at) + ")";
  if (request.mode == CancelMode::terminate) text += ", without clean-up";
  return text + ": " + (request.reason.empty() ? "no reason given" : request.reason);
}

/// The store has a request to end it that is stronger than the one in its history.
bool cancel_is_queued(const Explanation& e) {
  if (!e.info.cancel_asked || is_final(e.info.status)) return false;
  return !e.cancel_request || e.cancel_request->mode < *e.info.cancel_asked;
}

}  // namespace

std::string ago(TimePoint then, TimePoint now) {
  return now <= then ? "just now" : base::in_words(now - then) + " ago";
}

std::string name_of(Waiting::Kind kind, EventId event, const std::string& name) {
  std::string text(in_words(kind));
  if (!name.empty()) text += " '" + name + "'";
  return text + " (event " + std::to_string(event.value) + ")";
}

std::string_view in_words(Explanation::Finding::Kind kind) noexcept {
  switch (kind) {
    case Explanation::Finding::Kind::stuck:
      return "is stuck";
    case Explanation::Finding::Kind::let_go:
      return "may be stuck";
    case Explanation::Finding::Kind::unsent:
      return "waits for an answer from outside";
    case Explanation::Finding::Kind::orphan:
      return "is an orphan";
  }
  return "is judged in an unknown way";
}

std::string_view in_words(CancelReason reason) noexcept {
  switch (reason) {
    case CancelReason::dropped_future:
      return "the code no longer wanted it";
    case CancelReason::select_loser:
      return "something it raced against was ready first";
    case CancelReason::timeout:
      return "it took too long";
    case CancelReason::orchestration_terminal_completed:
      return "the orchestration completed without it";
    case CancelReason::orchestration_terminal_failed:
      return "the orchestration failed";
    case CancelReason::orchestration_terminal_cancelled:
      return "the orchestration was cancelled";
    case CancelReason::orchestration_terminal_continued_as_new:
      return "the orchestration continued as new";
    case CancelReason::parent_cancelled:
      return "the orchestration's parent cancelled it";
    case CancelReason::instance_deleted:
      return "the instance was deleted";
    case CancelReason::poison:
      return "it was handed out too often without an end";
  }
  return "for an unknown reason";
}

std::string status_sentence(const InstanceInfo& info, TimePoint now) {
  if (info.unreadable) return "cannot be read";
  const std::string code = "'" + info.name + "'" + (info.version.empty() ? "" : " " + info.version);
  const auto ended = [&](const char* verb, const std::string& why = {}) {
    return verb + (" " + ago(info.updated_at, now)) + " (" + code + ")" + (why.empty() ? "" : ": " + why);
  };
  switch (info.status) {
    case Status::pending:
      return "is pending: started " + ago(info.created_at, now) + " as " + code +
             ", and no node has run it yet";
    case Status::running:
    case Status::cancelling:
      return (info.status == Status::running ? "is running: " : "is cancelling, which means cleaning up: ") +
             code + ", execution " + std::to_string(info.execution.value) + ", " +
             std::to_string(info.last_event_id.value) + " events, last turn " + ago(info.updated_at, now);
    case Status::completed:
      return ended("completed");
    case Status::failed:
      return ended("failed", info.failure ? info.failure->describe() : "");
    case Status::cancelled:
      return ended("was cancelled", info.failure ? info.failure->message : "");
    case Status::continued_as_new:
      return "continues as new: " + code + ", the next execution has not begun";
  }
  return "has an unknown status";
}

std::string full_text(const Explanation& e, TimePoint now) {
  std::string text = "\"" + e.info.instance.value + "\" " + e.status + ".\n";
  if (e.info.custom_status) text += "Custom status: " + *e.info.custom_status + "\n";
  for (const Explanation::Finding& finding : e.findings) {
    text += "It " + std::string(in_words(finding.kind)) + ": " + finding.text + "\n";
  }
  if (!e.waits.empty()) text += "It waits for\n";
  for (const Waiting& wait : e.waits) text += "  - " + wait.text + "\n";
  if (e.cancel_request) text += describe(*e.cancel_request, now) + "\n";
  if (e.queued_cancel) {
    text += describe(*e.queued_cancel, now);
    text += e.cancel_request ? "; no turn has taken this second request yet\n"
                             : "; no turn has taken the request yet\n";
  } else if (cancel_is_queued(e)) {
    text += "It was asked to stop";
    if (e.info.cancel_asked == CancelMode::terminate) text += ", without clean-up";
    text += e.cancel_request ? ": no turn has taken this second request yet\n"
                             : ", and no turn has taken the request yet\n";
  }
  if (!e.cancelled.empty()) text += "It gave up\n";
  for (const CancelledStep& step : e.cancelled) {
    text += "  - " + name_of(step.kind, step.event, step.name) + " " + ago(step.at, now) + ": " +
            std::string(in_words(step.reason)) + " (" + std::string(to_string(step.reason)) + ")\n";
  }
  return text;
}

}  // namespace client
}  // namespace duramen::inline v0
