// Activities: leasing, renewing and ending them; and the sessions that keep some of them on one owner.
#include "providers/common/retry_details.hpp"
#include "testing/memory/state.hpp"

#include <set>

namespace duramen::inline v0::testing {
namespace {

bool wanted(const std::optional<std::vector<std::string>>& names, const std::string& name) {
  return !names || std::ranges::find(*names, name) != names->end();
}

/// Keeps the rows, in order, whose sessions fit into the limit of the worker.
void keep_within_sessions(std::vector<WorkRow*>& ready, const SessionClaim& claim) {
  std::set<std::string> in_hand(claim.active.begin(), claim.active.end());
  std::erase_if(ready, [&](const WorkRow* row) {
    const auto& session = row->request.session_id;
    if (!session || in_hand.contains(*session)) return false;
    if (in_hand.size() >= claim.max_active) return true;
    in_hand.insert(*session);
    return false;
  });
}

}  // namespace

/// True if this worker may run the activity and has room for its session.
bool MemoryState::may_take(const ActivityFetch& request, const WorkRow& row) const {
  if (!wanted(request.names, row.request.name) || !request.tags.accepts(row.request.tag)) return false;
  if (!row.request.session_id) return true;
  if (!request.sessions) return false;
  const auto& active = request.sessions->active;
  const bool in_hand = std::ranges::find(active, *row.request.session_id) != active.end();
  return in_hand || active.size() < request.sessions->max_active;
}

ActivityBatch MemoryState::fetch_work(const ActivityFetch& request) {
  const LeaseTime now = clock.lease_now();
  ActivityBatch batch;
  std::vector<WorkRow*> ready;
  for (auto& [key, row] : work) {
    if (const auto limit = overdue(row)) lower(batch.next_due, on_the_wall(limit->at));
    if (!may_take(request, row)) continue;
    LeaseTime due = row.position.since;
    if (is_leased(row)) due = std::max(due, row.lease_until);
    if (row.request.session_id) {
      const auto session = sessions.find(*row.request.session_id);
      const bool others = session != sessions.end() && session->second.owner != request.sessions->owner;
      if (others && is_live(session->second)) due = std::max(due, session->second.lease_until);
    }
    if (due > now) {
      lower(batch.next_due, on_the_wall(due));
    } else {
      ready.push_back(&row);
    }
  }
  std::ranges::sort(ready, {}, [](const WorkRow* row) { return row->position; });
  isolate_retries(ready, [](const WorkRow& row) { return row.attempts > 0; });
  if (request.sessions) keep_within_sessions(ready, *request.sessions);
  ready.resize(std::min(ready.size(), request.limit));

  for (WorkRow* row : ready) {
    begin_attempt(*row, request.node, new_token(), request.lease);
    if (row->request.session_id) {
      sessions[*row->request.session_id] = {request.sessions->owner,
                                            clock.lease_now() + request.sessions->lease, clock.lease_now()};
    }
    batch.items.push_back({.request = row->request,
                           .lease = {row->request.key, row->lease},
                           .lease_until = row->lease_until,
                           .attempt = row->attempts,
                           .fence = (row->request.fence_base << 32u) + row->leases,
                           .heartbeat = row->heartbeat});
  }
  return batch;
}

void MemoryState::begin_attempt(WorkRow& row, const NodeId& owner, LeaseToken token, Duration lease) {
  row.owner = owner;
  row.lease = token;
  row.started_at = row.renewed_at = clock.lease_now();
  row.lease_until = row.limits_from = row.alive_at = clock.lease_now() + lease;
  ++row.attempts;
  ++row.leases;
}

WorkRow* MemoryState::find_leased(const ActivityLease& lease) {
  const auto row = work.find(lease.key);
  const bool held = row != work.end() && row->second.lease == lease.token && is_leased(row->second);
  return held ? &row->second : nullptr;
}

AckResult MemoryState::ack(const ActivityAck& ack) {
  const WorkRow* row = find_leased(ack.lease);
  if (!row) {
    if (const auto reason = buried(ack.lease)) return {AckOutcome::cancelled, *reason};
    return {AckOutcome::lease_lost, {}};
  }
  use_session(*row);
  WorkRow ended = work.extract(ack.lease.key).mapped();
  if (ack.heartbeat) ended.heartbeat = ack.heartbeat;
  if (ack.completion) deliver_end(ended, *ack.completion, ack.ran);
  return {};
}

/// Delivers the end of an activity to its instance, if that has not ended.
void MemoryState::deliver_end(const WorkRow& row, const std::variant<Payload, Failure>& completion,
                              AttemptInfo ran) {
  const ActivityKey& key = row.request.key;
  Instance* target = find(key.incarnation);
  if (!target || is_final(target->info.status)) return;
  if (const auto* result = std::get_if<Payload>(&completion)) {
    enqueue(*target, message::ActivityCompleted{key.execution, key.activity, *result, std::move(ran)});
  } else {
    enqueue(*target, message::ActivityFailed{key.execution, key.activity, std::get<Failure>(completion),
                                             std::move(ran), providers::retry_details(row.heartbeat)});
  }
}

void MemoryState::release(const ActivityRelease& entry) {
  WorkRow* row = find_leased(entry.lease);
  if (!row) return;
  row->lease = {};
  if (!entry.count_attempt) --row->attempts;
  if (entry.delay > Duration{0}) row->position.since = clock.lease_now() + entry.delay;
  notices.activities_ready = true;
}

RenewResult MemoryState::renew(const ActivityRenewal& renewal, Duration extend) {
  WorkRow* row = find_leased(renewal.lease);
  if (!row) {
    if (const auto reason = buried(renewal.lease)) return {RenewOutcome::cancelled, *reason};
    return {RenewOutcome::lease_lost, {}};
  }
  use_session(*row);
  row->lease_until = clock.lease_now() + extend;
  row->renewed_at = clock.lease_now();
  if (renewal.progress == ActivityProgress::waits) row->limits_from = row->alive_at = row->lease_until;
  if (renewal.progress == ActivityProgress::begins) row->limits_from = row->alive_at = clock.lease_now();
  if (renewal.heartbeat) {
    row->alive_at = clock.lease_now();
    if (renewal.heartbeat->details) row->heartbeat = renewal.heartbeat->details;
  }
  return {};
}

// -- stolen leases

/// Deletes a worker row. Its holder learns of it by the tombstone.
std::optional<StolenLease> MemoryState::remove_row(const ActivityKey& key, CancelReason reason,
                                                   const NodeId& by) {
  auto row = work.extract(key);
  if (!row || !is_leased(row.mapped())) return std::nullopt;
  const WorkRow& held = row.mapped();
  StolenLease stolen{held.owner, {key, held.lease}, reason};
  tombstones[held.lease] = {stolen, held.lease_until + options.tombstone_margin, held.owner == by};
  return stolen;
}

std::optional<CancelReason> MemoryState::buried(const ActivityLease& lease) const {
  const auto found = tombstones.find(lease.token);
  if (found == tombstones.end() || found->second.lease.lease != lease) return std::nullopt;
  if (!is_live(found->second.until)) return std::nullopt;
  return found->second.lease.reason;
}

void MemoryState::forget_tombstones() {
  std::erase_if(tombstones, [&](const auto& entry) { return !is_live(entry.second.until); });
}

std::vector<StolenLease> MemoryState::read_stolen(const NodeId& node) {
  forget_tombstones();
  std::vector<StolenLease> unread;
  for (auto& [token, tombstone] : tombstones) {
    if (tombstone.reported || tombstone.lease.owner != node) continue;
    tombstone.reported = true;
    unread.push_back(tombstone.lease);
  }
  return unread;
}

// -- sessions

/// Records a use of the row's session, if its lease lasts.
void MemoryState::use_session(const WorkRow& row) {
  if (!row.request.session_id) return;
  const auto session = sessions.find(*row.request.session_id);
  if (session != sessions.end() && is_live(session->second)) session->second.used_at = clock.lease_now();
}

std::size_t MemoryState::renew_sessions(std::span<const std::string> owners, Duration extend,
                                        Duration idle_timeout) {
  const LeaseTime now = clock.lease_now();
  std::size_t renewed = 0;
  for (auto& [id, session] : sessions) {
    const bool own = std::ranges::find(owners, session.owner) != owners.end();
    if (!own || !is_live(session) || now - session.used_at >= idle_timeout) continue;
    session.lease_until = now + extend;
    ++renewed;
  }
  return renewed;
}

std::size_t MemoryState::release_sessions(const std::string& owner) {
  const std::size_t released = std::erase_if(
      sessions, [&](const auto& entry) { return entry.second.owner == owner && is_live(entry.second); });
  if (released > 0) notices.activities_ready = true;
  return released;
}

}  // namespace duramen::inline v0::testing
