// The work of a sweep: overdue activities, expired parked messages, sessions without owner.
#include "base/longest_wait.hpp"
#include "testing/memory/state.hpp"

#include <set>

namespace duramen::inline v0::testing {

SweepResult MemoryState::sweep(std::size_t limit) {
  SweepResult result;
  result.overdue = fail_overdue(limit);
  result.parked_dropped = drop_parked(limit);
  result.sessions_removed = remove_sessions(limit);
  result.more = std::max({result.overdue, result.parked_dropped, result.sessions_removed}) >= limit;
  for (const auto& [key, row] : work) {
    if (const auto next = overdue(row)) lower(result.next_due, on_the_wall(next->at));
  }
  return result;
}

/// The earliest time limit of the row that applies now, and its deadline. The limit on waiting applies until
/// the first attempt. The limits on running apply while the lease of the attempt lasts: if the lease ends
/// first, the row is free for another attempt. A missed heartbeat counts only if the holder renewed its lease
/// after the deadline: otherwise it may be gone, and the end of the lease decides.
std::optional<MemoryState::Overdue> MemoryState::overdue(const WorkRow& row) const {
  const ActivityOptions& limits = row.request.options;
  const LeaseTime now = clock.lease_now();
  std::optional<Overdue> first;
  const auto consider = [&](LeaseTime since, Duration limit, TimeoutKind which) {
    if (limit <= Duration{0}) return;
    const LeaseTime at = since + base::no_longer(limit);
    if (which == TimeoutKind::heartbeat && at <= now && row.renewed_at < at) return;
    if (!first || at < first->at) first = {at, which, at <= now};
  };
  if (is_leased(row)) {
    consider(row.limits_from, limits.start_to_close, TimeoutKind::start_to_close);
    consider(row.alive_at, limits.heartbeat, TimeoutKind::heartbeat);
  } else if (row.attempts == 0) {
    consider(row.position.since, limits.schedule_to_start, TimeoutKind::schedule_to_start);
  }
  return first;
}

std::size_t MemoryState::fail_overdue(std::size_t limit) {
  std::vector<ActivityKey> due;
  for (const auto& [key, row] : work) {
    const auto limit_of_row = overdue(row);
    if (limit_of_row && limit_of_row->passed && due.size() < limit) due.push_back(key);
  }
  for (const ActivityKey& key : due) {
    const WorkRow row = work.at(key);
    const Failure failure = overdue_failure(row.request, overdue(row)->which, row.attempts);
    AttemptInfo ran;
    if (row.attempts > 0)
      ran = {on_the_wall(row.started_at), row.request.attempts_before + row.attempts, row.owner};
    if (const auto stolen = remove_row(key, CancelReason::timeout, {})) notices.stolen.push_back(*stolen);
    deliver_end(row, failure, std::move(ran));
  }
  return due.size();
}

std::size_t MemoryState::drop_parked(std::size_t limit) {
  std::size_t dropped = 0;
  for (auto& [target, messages] : parked) dropped += drop_expired(messages, limit - dropped);
  std::erase_if(parked, [](const auto& entry) { return entry.second.empty(); });
  return dropped;
}

std::size_t MemoryState::drop_expired(std::vector<ParkedMessage>& messages, std::size_t limit) {
  std::size_t left = limit;
  std::erase_if(messages, [&](const ParkedMessage& entry) {
    if (left == 0 || is_live(entry.until)) return false;
    --left;
    return true;
  });
  dropped_parked_ += limit - left;
  return limit - left;
}

std::size_t MemoryState::remove_sessions(std::size_t limit) {
  std::set<std::string> with_work;
  for (const auto& [key, row] : work) {
    if (row.request.session_id) with_work.insert(*row.request.session_id);
  }
  std::size_t removed = 0;
  std::erase_if(sessions, [&](const auto& entry) {
    if (removed == limit || is_live(entry.second) || with_work.contains(entry.first)) return false;
    ++removed;
    return true;
  });
  return removed;
}

}  // namespace duramen::inline v0::testing
