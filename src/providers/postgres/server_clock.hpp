// An estimate of the server's clock: the clock of this machine plus the measured difference.
#pragma once

#include "providers/postgres/connection.hpp"
#include <duramen/time.hpp>

#include <atomic>

namespace duramen::inline v0::postgres::detail {

class ServerClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return system_clock().now() + Duration{ahead_.load()}; }
  /// A holder counts its lease on its own clock, from before its request.
  [[nodiscard]] LeaseTime lease_now() const override { return system_clock().lease_now(); }

  void synchronise(const ServerInfo& info) { ahead_ = info.server_now - info.here_now; }

 private:
  std::atomic<Duration::rep> ahead_ = 0;
};

}  // namespace duramen::inline v0::postgres::detail
