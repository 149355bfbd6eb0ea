// An estimate of the server's wall clock: the boot clock of this machine plus an offset, which every answer
// of the server narrows. A step of this machine's wall clock does not move it.
#pragma once

#include "providers/postgres/connection.hpp"
#include <duramen/detail/mutant.hpp>
#include <duramen/time.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>

namespace duramen::inline v0::postgres::detail {

class ServerClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override {
    if (duramen::detail::mutant("timers_follow_the_clock_of_the_node")) return system_clock().now();
    const std::lock_guard lock(mutex_);
    return from_unix_ms(here() + offset_);
  }
  /// A holder counts its lease on its own clock, from before its request.
  [[nodiscard]] LeaseTime lease_now() const override { return system_clock().lease_now(); }

  /// The server read `server_now` at some time between `sent` and `received`, in milliseconds of the boot
  /// clock.
  void heard(std::int64_t server_now, std::int64_t sent, std::int64_t received) {
    const std::lock_guard lock(mutex_);
    const std::int64_t least = server_now - received;
    const std::int64_t most = server_now - sent + 1;  // both clocks cut off parts of a millisecond
    offset_ = known_ ? std::clamp(offset_, least, most) : least + (most - least) / 2;
    known_ = true;
  }
  void heard(const ServerInfo& info) { heard(info.server_now, info.sent, info.received); }

  /// Milliseconds of the boot clock.
  [[nodiscard]] static std::int64_t here() { return system_clock().lease_now().time_since_epoch().count(); }

 private:
  mutable std::mutex mutex_;
  std::int64_t offset_ = 0;
  bool known_ = false;
};

}  // namespace duramen::inline v0::postgres::detail
