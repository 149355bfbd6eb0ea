#include "providers/sqlite/stolen_leases.hpp"

namespace duramen::inline v0::sqlite::detail {

namespace {

// A holder may ask until this long after the end of its lease; at the end it stops by its own clock.
constexpr std::int64_t margin_ms = 60'000;
constexpr std::int64_t sweep_interval_ms = 30'000;

CancelReason reason_of(std::string_view text) {
  return parse_cancel_reason(text).value_or(CancelReason::dropped_future);
}

LeaseTime lease_time(std::int64_t milliseconds) { return LeaseTime{Duration{milliseconds}}; }

}  // namespace

StolenLeases::StolenLeases(Connection& connection)
    : add_(connection,
           "INSERT OR REPLACE INTO duramen_stolen_leases (lease_token, instance_key, execution, activity, "
           "owner, "
           "reason, "
           "until, reported) VALUES (?, ?, ?, ?, ?, ?, ?, 0)"),
      reason_(connection,
              "SELECT reason FROM duramen_stolen_leases WHERE lease_token = ? AND instance_key = ? AND "
              "execution = ? "
              "AND activity = ? AND until > ?"),
      unreported_(connection,
                  "SELECT lease_token, instance_key, execution, activity, reason FROM duramen_stolen_leases "
                  "WHERE owner = ? AND reported = 0"),
      mark_reported_(connection,
                     "UPDATE duramen_stolen_leases SET reported = 1 WHERE owner = ? AND reported = 0"),
      sweep_(connection, "DELETE FROM duramen_stolen_leases WHERE until <= ?") {}

void StolenLeases::add(const TransactionTime& time, const StolenLease& stolen, std::int64_t until,
                       const NodeId& by) {
  sweep(time);
  until += margin_ms;
  if (stolen.owner == by) {
    own_.add(stolen.lease, stolen.reason, lease_time(until), lease_time(time.lease_now));
    return;
  }
  const ActivityKey& key = stolen.lease.key;
  add_.execute(stolen.lease.token.value, key.incarnation.value, key.execution.value, key.activity.value,
               stolen.owner.value, to_string(stolen.reason), until);
}

std::optional<CancelReason> StolenLeases::reason(const TransactionTime& time, const ActivityLease& lease) {
  if (const auto reason = own_.reason(lease, lease_time(time.lease_now))) return reason;
  Cursor run = reason_.run(lease.token.value, lease.key.incarnation.value, lease.key.execution.value,
                           lease.key.activity.value, time.lease_now);
  if (!run.step()) return std::nullopt;
  return reason_of(run.text(0));
}

bool StolenLeases::any_unreported(const NodeId& node) { return unreported_.run(node.value).step(); }

std::vector<StolenLease> StolenLeases::take_unreported(const NodeId& node) {
  std::vector<StolenLease> leases;
  Cursor run = unreported_.run(node.value);
  while (run.step()) {
    const ActivityKey key{Incarnation{run.number(1)}, ExecutionId{run.number(2)}, EventId{run.number(3)}};
    leases.push_back({node, {key, LeaseToken{run.number(0)}}, reason_of(run.text(4))});
  }
  if (!leases.empty()) mark_reported_.execute(node.value);
  return leases;
}

void StolenLeases::sweep(const TransactionTime& time) {
  if (time.lease_now < next_sweep_) return;
  next_sweep_ = time.lease_now + sweep_interval_ms;
  sweep_.execute(time.lease_now);
}

}  // namespace duramen::inline v0::sqlite::detail
