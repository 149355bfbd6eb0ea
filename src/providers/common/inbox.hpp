// The messages that a fetch hands out of one instance's queue, within the limits of the fetch.
//
// Messages go in the order of their places. A due timer stands before the first message that was sent at its
// time or later; timers among themselves go by their times, then by their events.
#pragma once

#include <duramen/message.hpp>
#include <duramen/provider.hpp>
#include <duramen/time.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace duramen::inline v0::providers {

/// Places of timers begin here; those of messages are below. The place of a timer is this plus its event id.
inline constexpr std::int64_t first_timer_place = std::int64_t{1} << 61;

[[nodiscard]] inline std::int64_t place_of_timer(EventId timer) {
  return first_timer_place + static_cast<std::int64_t>(timer.value);
}

/// One instance's part of a fetch. Feed it the instance's due timers, then its messages until it is full.
class Inbox {
 public:
  /// `total_bytes` is shared by all instances of the fetch: what they may still take.
  Inbox(const TurnFetch& limits, std::size_t& total_bytes) : limits_(limits), total_bytes_(total_bytes) {}

  /// In the order (fire_at, event).
  void add_timer(ExecutionId execution, EventId event, TimePoint fire_at);
  /// In the order of places. False: the message and all behind it stay in the queue.
  [[nodiscard]] bool add_message(TimePoint sent_at, std::size_t bytes);

  /// Where add_message() accepted a message, this is the list it belongs to; the caller appends it, or notes
  /// that it cannot be read.
  [[nodiscard]] std::vector<InboxMessage>& messages() noexcept { return messages_; }
  /// All messages were fed: adds the timers behind them, within the limits.
  void finish();
  [[nodiscard]] bool full() const noexcept { return full_; }

 private:
  [[nodiscard]] bool take(std::size_t bytes);
  void add_timers_before(TimePoint sent_at);

  const TurnFetch& limits_;
  std::size_t& total_bytes_;
  std::vector<InboxMessage> timers_;
  std::vector<TimePoint> fire_at_;
  std::size_t next_timer_ = 0;
  std::vector<InboxMessage> messages_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  bool full_ = false;
};

}  // namespace duramen::inline v0::providers
