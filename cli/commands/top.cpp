// duramen top: the store, live. On a terminal one screen that is redrawn; otherwise one line per round.
#include "changes.hpp"
#include "commands.hpp"
#include "store.hpp"
#include "text.hpp"
#include "values.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

namespace duramen::cli {

namespace {

/// The state of the store in one round.
struct StoreSnapshot {
  TimePoint at;
  std::chrono::steady_clock::time_point measured;
  StoreMetrics metrics;
  QueueDepths queues;
  std::vector<InstanceInfo> open;  ///< newest first
};

Result<StoreSnapshot> read_store(Session& session, std::size_t rows) {
  StoreSnapshot snapshot;
  snapshot.at = session.now();
  snapshot.measured = std::chrono::steady_clock::now();
  Result<StoreMetrics> metrics = session.client.metrics();
  if (!metrics) return metrics.error();
  snapshot.metrics = *metrics;
  Result<QueueDepths> queues = session.client.queue_depths();
  if (!queues) return queues.error();
  snapshot.queues = *queues;
  if (rows == 0) return snapshot;
  InstanceQuery query;
  query.filter.statuses = {Status::pending, Status::running, Status::cancelling, Status::continued_as_new};
  query.limit = rows;
  Result<InstancePage> page = session.client.list(query);
  if (!page) return page.error();
  snapshot.open = std::move(page->instances);
  return snapshot;
}

std::uint64_t ended(const StoreMetrics& metrics) {
  return metrics.count(Status::completed) + metrics.count(Status::failed) + metrics.count(Status::cancelled);
}

struct Rates {
  double events = 0;
  double ended = 0;
};

Rates rates_of(const StoreSnapshot& now, const std::optional<StoreSnapshot>& before) {
  if (!before) return {};
  const double seconds = std::chrono::duration<double>(now.measured - before->measured).count();
  if (seconds <= 0) return {};
  // A delete reduces the numbers; rates are never negative.
  const auto growth = [](std::uint64_t a, std::uint64_t b) {
    return a > b ? static_cast<double>(a - b) : 0.0;
  };
  return {growth(now.metrics.events, before->metrics.events) / seconds,
          growth(ended(now.metrics), ended(before->metrics)) / seconds};
}

std::string per_second(double rate) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f/s", rate);
  return text.data();
}

std::string number(std::uint64_t n) { return std::to_string(n); }

Json json_of(const StoreSnapshot& snapshot, const Rates& rates) {
  JsonObject by_status;
  for (std::size_t i = 0; i < status_count; ++i) {
    const auto status = static_cast<Status>(i);
    by_status.add(to_string(status), snapshot.metrics.count(status));
  }
  std::array<char, 32> events{};
  std::array<char, 32> ends{};
  std::snprintf(events.data(), events.size(), "%.3f", rates.events);
  std::snprintf(ends.data(), ends.size(), "%.3f", rates.ended);
  return JsonObject()
      .add("at", snapshot.at)
      .add("instances", by_status)
      .add("unreadable", snapshot.metrics.unreadable)
      .add("events", snapshot.metrics.events)
      .add("events_per_second", Json::raw(events.data()))
      .add("ended_per_second", Json::raw(ends.data()))
      .add("messages_due", snapshot.queues.orchestrator_due)
      .add("activities_due", snapshot.queues.worker_due)
      .add("activities_running", snapshot.queues.worker_leased);
}

/// One line, for a pipe.
Text line_of(const StoreSnapshot& snapshot, const Rates& rates) {
  const StoreMetrics& m = snapshot.metrics;
  return {date_and_time(snapshot.at) + "  pending " + number(m.count(Status::pending)) + "  running " +
          number(m.count(Status::running)) + "  cancelling " + number(m.count(Status::cancelling)) +
          "  completed " + number(m.count(Status::completed)) + "  failed " +
          number(m.count(Status::failed)) + "  cancelled " + number(m.count(Status::cancelled)) +
          (m.unreadable == 0 ? "" : "  unreadable " + number(m.unreadable)) + "  messages due " +
          number(snapshot.queues.orchestrator_due) + "  activities " + number(snapshot.queues.worker_due) +
          " due, " + number(snapshot.queues.worker_leased) + " running  events " + per_second(rates.events) +
          "  ended " + per_second(rates.ended)};
}

std::vector<Block> screen_of(const std::string& store, const StoreSnapshot& snapshot, const Rates& rates) {
  std::vector<Block> page;
  Table title;
  title.titles = false;
  title.columns = {{.may_shrink_to = 20}, {}};
  title.rows.push_back({{store, Tone::strong}, {date_and_time(snapshot.at) + " UTC", Tone::strong}});
  page.emplace_back(std::move(title));
  Table counts;
  std::vector<Cell> row;
  for (std::size_t i = 0; i < status_count; ++i) {
    const auto status = static_cast<Status>(i);
    if (status == Status::continued_as_new) continue;
    counts.columns.push_back({.title = std::string(to_string(status)), .right = true});
    const std::uint64_t n = snapshot.metrics.count(status);
    row.emplace_back(number(n), n == 0 ? Tone::faint : status_cell(status).tone);
  }
  if (snapshot.metrics.unreadable != 0) {
    counts.columns.push_back({.title = "Unreadable", .right = true});
    row.emplace_back(number(snapshot.metrics.unreadable), Tone::bad);
  }
  counts.rows.push_back(std::move(row));
  page.emplace_back(std::move(counts));
  Table flow;
  flow.columns = {{.title = "Events", .right = true},         {.title = "Ended", .right = true},
                  {.title = "Messages due", .right = true},   {.title = "Timers", .right = true},
                  {.title = "Activities due", .right = true}, {.title = "Running", .right = true}};
  flow.rows.push_back({per_second(rates.events), per_second(rates.ended),
                       number(snapshot.queues.orchestrator_due), number(snapshot.queues.orchestrator_later),
                       number(snapshot.queues.worker_due), number(snapshot.queues.worker_leased)});
  page.emplace_back(std::move(flow));
  if (!snapshot.open.empty()) {
    Table open;
    open.columns = {{.title = "OPEN", .may_shrink_to = 16},
                    {.title = "ORCHESTRATION", .may_shrink_to = 10},
                    {.title = "STATUS"},
                    {.title = "EVENTS", .right = true},
                    {.title = "UPDATED", .right = true},
                    {.title = "SAYS", .may_shrink_to = 10, .optional = true}};
    for (const InstanceInfo& info : snapshot.open) {
      open.rows.push_back({info.instance.value, code_of(info.name, info.version), status_cell(info),
                           number(info.last_event_id.value), ago(info.updated_at, snapshot.at),
                           info.custom_status.value_or("")});
    }
    page.emplace_back(std::move(open));
  }
  return page;
}

}  // namespace

Result<Answer> run(Session& session, const TopArguments& arguments) {
  const bool live = session.context.terminal.interactive;
  std::optional<StoreSnapshot> before;
  for (std::uint64_t round = 1;; ++round) {
    Result<StoreSnapshot> snapshot = read_store(session, live ? arguments.rows : 0);
    if (!snapshot) return snapshot.error();
    const Rates rates = rates_of(*snapshot, before);
    Answer answer;
    answer.documents.push_back(json_of(*snapshot, rates));
    if (live) {
      answer.page.emplace_back(Verbatim{"\x1b[H\x1b[2J"});  // clears the screen
      for (Block& block : screen_of(shown_address(session.context.globals.store), *snapshot, rates)) {
        answer.page.push_back(std::move(block));
      }
    } else {
      answer.page.emplace_back(line_of(*snapshot, rates));
    }
    if (!session.context.emit(answer) || round == arguments.rounds) return Answer{};
    before = *std::move(snapshot);
    std::this_thread::sleep_for(arguments.interval);
  }
}

}  // namespace duramen::cli
