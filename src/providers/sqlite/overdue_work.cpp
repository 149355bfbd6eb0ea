#include "providers/sqlite/overdue_work.hpp"

#include <utility>

namespace duramen::inline v0::sqlite::detail {

OverdueWork::OverdueWork(Connection& connection, WorkerQueue& workers, Delivery& delivery)
    : workers_(workers),
      delivery_(delivery),
      first_start_by_(connection,
                      "SELECT min(start_by) FROM worker_queue INDEXED BY worker_queue_start_by "
                      "WHERE start_by IS NOT NULL AND lease_token IS NULL AND attempt = 0"),
      first_overdue_(connection,
                     "SELECT min(overdue_at) FROM worker_queue INDEXED BY worker_queue_overdue "
                     "WHERE overdue_at IS NOT NULL"),
      not_begun_(
          connection,
          "SELECT instance_key, execution, activity FROM worker_queue INDEXED BY worker_queue_start_by "
          "WHERE start_by IS NOT NULL AND lease_token IS NULL AND attempt = 0 AND start_by <= ?1 "
          "ORDER BY start_by LIMIT ?2"),
      held_too_long_(
          connection,
          "SELECT instance_key, execution, activity, close_by IS NOT NULL AND close_by <= overdue_at "
          "FROM worker_queue INDEXED BY worker_queue_overdue "
          "WHERE overdue_at IS NOT NULL AND overdue_at <= ?1 ORDER BY overdue_at LIMIT ?2"),
      free_(connection,
            "UPDATE worker_queue INDEXED BY worker_queue_overdue SET lease_token = NULL, lease_until = NULL, "
            "lease_owner = NULL, close_by = NULL, overdue_at = NULL "
            "WHERE overdue_at IS NOT NULL AND overdue_at <= ?1 AND lease_until <= ?1") {}

std::optional<TimePoint> OverdueWork::next(const TransactionTime& time) {
  std::optional<TimePoint> first;
  {
    Cursor run = first_start_by_.run();
    if (run.step() && !run.is_null(0)) first = from_unix_ms(run.integer(0));
  }
  Cursor run = first_overdue_.run();
  if (run.step() && !run.is_null(0)) first = earlier(first, time.wall_time(run.integer(0)));
  return first;
}

std::optional<TimePoint> OverdueWork::next_in_time(const TransactionTime& time) {
  const auto first = next(time);
  return first && to_unix_ms(*first) > time.now ? first : std::nullopt;
}

std::vector<OverdueWork::Found> OverdueWork::find(const TransactionTime& time, std::size_t limit) {
  std::vector<Found> found;
  const auto key_of = [](const Cursor& run) {
    return ActivityKey{Incarnation{run.number(0)}, ExecutionId{run.number(1)}, EventId{run.number(2)}};
  };
  {
    Cursor run = not_begun_.run(time.now, limit);
    while (run.step()) found.push_back({key_of(run), TimeoutKind::schedule_to_start});
  }
  Cursor run = held_too_long_.run(time.lease_now, limit - found.size());
  while (run.step()) {
    found.push_back(
        {key_of(run), run.integer(3) != 0 ? TimeoutKind::start_to_close : TimeoutKind::heartbeat});
  }
  return found;
}

std::size_t OverdueWork::fail(const TransactionTime& time, std::size_t limit, providers::Notices& notices) {
  // If the lease has expired as well, the row is free and waits for its next attempt.
  free_.execute(time.lease_now);
  const std::vector<Found> overdue = find(time, limit);
  for (const Found& found : overdue) fail(time, found, notices);
  return overdue.size();
}

void OverdueWork::fail(const TransactionTime& time, const Found& found, providers::Notices& notices) {
  const auto item = workers_.read(found.key);
  if (!item) return;
  // read() returns the attempt that would come next.
  const std::uint32_t attempt = item->attempt - 1;
  workers_.take_away(time, found.key, CancelReason::timeout, notices.stolen);
  const ActivityAck ack{.lease = {found.key, {}},
                        .instance = item->request.instance,
                        .completion = overdue_failure(item->request, found.which, attempt)};
  delivery_.enqueue_completion(time, ack, notices);
}

}  // namespace duramen::inline v0::sqlite::detail
