// duramen stats: counts of instances and queued work.
#include "commands.hpp"
#include "text.hpp"

namespace duramen::cli {

Result<Answer> run(Session& session, const StatsArguments& /*arguments*/) {
  Result<StoreMetrics> metrics = session.client.metrics();
  if (!metrics) return metrics.error();
  Result<QueueDepths> queues = session.client.queue_depths();
  if (!queues) return queues.error();

  Answer answer;
  JsonObject by_status;
  Table instances;
  instances.titles = false;
  instances.columns = {{}, {.right = true}};
  const auto line = [&instances](std::string name, const Cell& number) {
    instances.rows.push_back({Cell(std::move(name), Tone::faint), number});
  };
  for (std::size_t i = 0; i < status_count; ++i) {
    const auto status = static_cast<Status>(i);
    by_status.add(to_string(status), metrics->count(status));
    Cell number(std::to_string(metrics->count(status)), Tone::plain);
    if (metrics->count(status) != 0) number.tone = status_cell(status).tone;
    line(std::string(to_string(status)), number);
  }
  if (metrics->unreadable != 0) line("Unreadable", {std::to_string(metrics->unreadable), Tone::bad});
  line("All instances", {std::to_string(metrics->total_instances()), Tone::strong});
  line("Executions", std::to_string(metrics->executions));
  line("Events", std::to_string(metrics->events));

  Table waiting;
  waiting.columns = {{.title = "QUEUE"},
                     {.title = "DUE", .right = true},
                     {.title = "LATER", .right = true},
                     {.title = "IN HAND", .right = true}};
  const auto row = [&](const char* name, std::uint64_t due, std::uint64_t later, std::uint64_t leased) {
    waiting.rows.push_back({name, std::to_string(due), std::to_string(later), std::to_string(leased)});
  };
  row("messages to instances", queues->orchestrator_due, queues->orchestrator_later,
      queues->orchestrator_leased);
  row("activities", queues->worker_due, queues->worker_later, queues->worker_leased);

  Fields rest;
  rest.add("Parked messages", std::to_string(queues->parked));
  rest.add("Sessions", std::to_string(queues->sessions));

  JsonObject document;
  document.add("instances", by_status)
      .add("unreadable", metrics->unreadable)
      .add("total_instances", metrics->total_instances())
      .add("executions", metrics->executions)
      .add("events", metrics->events)
      .add("queues", JsonObject()
                         .add("orchestrator_due", queues->orchestrator_due)
                         .add("orchestrator_later", queues->orchestrator_later)
                         .add("orchestrator_leased", queues->orchestrator_leased)
                         .add("worker_due", queues->worker_due)
                         .add("worker_later", queues->worker_later)
                         .add("worker_leased", queues->worker_leased)
                         .add("parked", queues->parked)
                         .add("sessions", queues->sessions));
  answer.documents.push_back(document);
  answer.page.emplace_back(std::move(instances));
  answer.page.emplace_back(std::move(waiting));
  answer.page.emplace_back(std::move(rest));
  return answer;
}

}  // namespace duramen::cli
