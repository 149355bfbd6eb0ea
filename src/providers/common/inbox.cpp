#include "providers/common/inbox.hpp"

#include <algorithm>
#include <utility>

namespace duramen::inline v0::providers {

namespace {
// A timer counts as this many bytes.
constexpr std::size_t timer_bytes = 64;
}  // namespace

void Inbox::add_timer(ExecutionId execution, EventId event, TimePoint fire_at) {
  timers_.push_back({message::TimerFired{execution, event, fire_at}, place_of_timer(event)});
  fire_at_.push_back(fire_at);
}

bool Inbox::add_message(TimePoint sent_at, std::size_t bytes) {
  add_timers_before(sent_at);
  return !full_ && take(bytes);
}

void Inbox::finish() { add_timers_before(TimePoint::max()); }

/// A due timer goes before the first message that was sent at its time or later.
void Inbox::add_timers_before(TimePoint sent_at) {
  while (!full_ && next_timer_ < timers_.size() && fire_at_[next_timer_] <= sent_at) {
    if (take(timer_bytes)) messages_.push_back(std::move(timers_[next_timer_++]));
  }
}

/// The first one is taken whatever its size.
bool Inbox::take(std::size_t bytes) {
  const bool fits =
      count_ < limits_.max_messages && bytes_ + bytes <= limits_.max_bytes && bytes <= total_bytes_;
  full_ = count_ > 0 && !fits;
  if (full_) return false;
  ++count_;
  bytes_ += bytes;
  total_bytes_ -= std::min(bytes, total_bytes_);
  return true;
}

}  // namespace duramen::inline v0::providers
