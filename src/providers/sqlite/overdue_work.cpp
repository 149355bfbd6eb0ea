#include "providers/sqlite/overdue_work.hpp"

#include "providers/common/retry_details.hpp"
#include <duramen/detail/mutant.hpp>

#include <utility>

namespace duramen::inline v0::sqlite::detail {

OverdueWork::OverdueWork(Connection& connection, WorkerQueue& workers, Delivery& delivery)
    : workers_(workers),
      delivery_(delivery),
      first_start_by_(
          connection,
          "SELECT min(start_by) FROM duramen_worker_queue INDEXED BY duramen_worker_queue_start_by "
          "WHERE start_by IS NOT NULL AND lease_token IS NULL AND attempt = 0"),
      first_overdue_(
          connection,
          "SELECT min(overdue_at) FROM duramen_worker_queue INDEXED BY duramen_worker_queue_overdue "
          "WHERE overdue_at IS NOT NULL"),
      not_begun_(connection,
                 "SELECT instance_key, execution, activity FROM duramen_worker_queue INDEXED BY "
                 "duramen_worker_queue_start_by "
                 "WHERE start_by IS NOT NULL AND lease_token IS NULL AND attempt = 0 "
                 "AND start_by BETWEEN ?3 AND ?1 ORDER BY start_by LIMIT ?2"),
      held_too_long_(connection,
                     "SELECT instance_key, execution, activity, close_by, alive_by, renewed_at "
                     "FROM duramen_worker_queue INDEXED BY duramen_worker_queue_overdue "
                     "WHERE overdue_at IS NOT NULL AND overdue_at <= ?1 ORDER BY overdue_at LIMIT ?2"),
      free_(connection,
            "UPDATE duramen_worker_queue INDEXED BY duramen_worker_queue_overdue SET lease_token = NULL, "
            "lease_until = NULL, lease_owner = NULL, close_by = NULL, alive_by = NULL, overdue_at = NULL "
            "WHERE overdue_at IS NOT NULL AND overdue_at <= ?1 AND lease_until <= ?1"),
      // A missed heartbeat alone: the holder may be gone, then the end of the lease decides. A renewal shows
      // that it lives.
      look_again_(connection,
                  "UPDATE duramen_worker_queue INDEXED BY duramen_worker_queue_overdue "
                  "SET overdue_at = min(coalesce(close_by, lease_until), lease_until) "
                  "WHERE overdue_at IS NOT NULL AND overdue_at <= ?1 AND alive_by <= ?1 "
                  "AND renewed_at < alive_by AND (close_by IS NULL OR close_by > ?1)"),
      begin_anew_(connection,
                  "UPDATE duramen_worker_queue SET start_by = ?1 + min(schedule_to_start, ?4) "
                  "WHERE (instance_key, execution, activity) IN (SELECT instance_key, execution, activity "
                  "FROM duramen_worker_queue INDEXED BY duramen_worker_queue_start_by "
                  "WHERE start_by IS NOT NULL AND lease_token IS NULL AND attempt = 0 AND start_by < ?2 "
                  "ORDER BY start_by LIMIT ?3)") {}

std::optional<TimePoint> OverdueWork::next(const TransactionTime& time) {
  std::optional<TimePoint> first;
  {
    Cursor run = first_start_by_.run();
    if (run.step() && !run.is_null(0)) first = time.wall_time(run.integer(0));
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
    Cursor run = not_begun_.run(time.lease_now, limit, time.first_of_boot());
    while (run.step()) found.push_back({key_of(run), TimeoutKind::schedule_to_start});
  }
  Cursor run = held_too_long_.run(time.lease_now, limit - found.size());
  while (run.step()) {
    // The limit that passed first is the reason. A missed heartbeat counts if its holder is alive.
    const bool silent =
        !run.is_null(4) && run.integer(4) <= time.lease_now && run.integer(5) >= run.integer(4);
    const bool closed =
        !run.is_null(3) && run.integer(3) <= time.lease_now && (!silent || run.integer(3) <= run.integer(4));
    found.push_back({key_of(run), closed ? TimeoutKind::start_to_close : TimeoutKind::heartbeat});
  }
  return found;
}

std::size_t OverdueWork::fail(const TransactionTime& time, std::size_t limit, providers::Notices& notices) {
  // If the lease has expired as well, the row is free and waits for its next attempt.
  free_.execute(time.lease_now);
  if (!duramen::detail::mutant("a_missed_heartbeat_fails_at_once")) look_again_.execute(time.lease_now);
  begin_anew(time, limit);
  const std::vector<Found> overdue = find(time, limit);
  for (const Found& found : overdue) fail(time, found, notices);
  return overdue.size();
}

void OverdueWork::begin_anew(const TransactionTime& time, std::size_t limit) {
  begin_anew_.execute(time.lease_now, time.first_of_boot(), limit,
                      time.lease_end(Duration::max()) - time.lease_now);
}

void OverdueWork::fail(const TransactionTime& time, const Found& found, providers::Notices& notices) {
  const auto item = workers_.read(found.key);
  if (!item) return;
  // read() returns the attempt that would come next.
  const std::uint32_t attempt = item->attempt - 1;
  const AttemptInfo ran = workers_.last_attempt(time, found.key);
  workers_.take_away(time, found.key, CancelReason::timeout, notices.stolen);
  const ActivityAck ack{.lease = {found.key, {}},
                        .instance = item->request.instance,
                        .completion = overdue_failure(item->request, found.which, attempt),
                        .ran = ran};
  delivery_.enqueue_completion(time, ack, providers::retry_details(item->heartbeat), notices);
}

}  // namespace duramen::inline v0::sqlite::detail
