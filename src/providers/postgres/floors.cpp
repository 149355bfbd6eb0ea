#include "providers/postgres/floors.hpp"

#include <duramen/detail/mutant.hpp>

#include <algorithm>

namespace duramen::inline v0::postgres::detail {

Floors::Begin Floors::begin(std::span<const std::string> capabilities, Steady::time_point now) {
  const std::lock_guard lock(mutex_);
  Begin begin{.ready = std::vector<std::int64_t>(capabilities.size(), before_all),
              .wake = wake_.from(now),
              .settled = settled_,
              .settled_time = settled_time_,
              .wants_id = !remembered_ && (last_ > settled_ || time_ - settled_time_ >= id_after_ms)};
  if (duramen::detail::mutant("idle_fetches_settle_nothing")) begin.wants_id = false;
  for (std::size_t i = 0; i < capabilities.size(); ++i) {
    const auto known = ready_.find(capabilities[i]);
    if (known != ready_.end()) begin.ready[i] = known->second.from(now);
  }
  return begin;
}

bool Floors::end(std::span<const std::string> capabilities, const Begin& begin, const Answer& answer,
                 Steady::time_point now) {
  const std::lock_guard lock(mutex_);
  last_ = answer.last;
  time_ = answer.time;
  if ((answer.last < begin.settled || answer.time < begin.settled_time) &&
      !duramen::detail::mutant("floors_outlive_a_failover")) {
    ready_.clear();
    wake_ = {};
    settled_ = settled_time_ = before_all;
    remembered_.reset();
    return false;
  }
  // This fetch looked after all transactions below its xmin had ended.
  std::int64_t seen = begin.settled;
  std::int64_t seen_time = begin.settled_time;
  if (remembered_ &&
      (answer.xmin >= *remembered_->own_id || duramen::detail::mutant("floors_pass_open_transactions"))) {
    seen = std::max(seen, remembered_->last);
    seen_time = std::max(seen_time, remembered_->time);
    settled_ = std::max(settled_, seen);
    settled_time_ = std::max(settled_time_, seen_time);
    remembered_.reset();
  }
  if (!remembered_ && answer.own_id) remembered_ = answer;
  if (ready_.size() > 10'000) ready_.clear();
  const auto raise = [now](Floor& floor, std::int64_t from, std::int64_t to) {
    floor.at = to;
    if (from == before_all || duramen::detail::mutant("a_busy_capability_is_never_scanned_again"))
      floor.looked_at_all = now;
  };
  for (std::size_t i = 0; i < capabilities.size() && i < answer.lowest.size(); ++i) {
    const std::int64_t lowest = answer.lowest[i];
    raise(ready_[capabilities[i]], begin.ready[i], lowest > 0 ? std::min(seen, lowest - 1) : seen);
  }
  raise(wake_, begin.wake, answer.lowest_wake ? std::min(seen_time, *answer.lowest_wake - 1) : seen_time);
  return true;
}

}  // namespace duramen::inline v0::postgres::detail
