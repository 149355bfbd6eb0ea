// Why earlier attempts of this node at a turn were not stored.
//
// The store only counts attempts. A node that loses a lease through no fault of the instance, because the
// store was slow or the process stood still, does not count that attempt towards `poison`; and the text of a
// poison failure names what this node has seen. All on the loop.
#pragma once

#include <duramen/ids.hpp>
#include <duramen/provider.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace duramen::inline v0::runtime {

struct PendingTurn;

class LostAttempts {
 public:
  struct Counts {
    std::uint32_t lost = 0;     ///< the lease ended before the turn was stored
    std::uint32_t blocked = 0;  ///< the turn ran for longer than max_turn_time
  };

  /// Forgets all above `max_remembered`: only a store in trouble gets there.
  explicit LostAttempts(std::size_t max_remembered) : max_remembered_(max_remembered) {}

  /// The lease ended before a turn of the fetched instance began.
  void lost(const LeasedInstance& leased);
  /// The turn was not stored.
  void lost(const PendingTurn& turn, bool blocked);
  /// The attempts at the turn that the instance needs now; zero if another turn was stored since.
  [[nodiscard]] Counts of(const LeasedInstance& leased) const;
  /// A turn of the instance was stored.
  void forget(const InstanceId& instance) {
    if (!lost_.empty()) lost_.erase(instance);
  }

 private:
  /// The turn that was tried.
  struct Turn {
    Incarnation incarnation;
    ExecutionId execution;
    EventId after;
    friend bool operator==(const Turn&, const Turn&) = default;
  };
  struct Entry {
    Turn turn;
    Counts counts;
  };
  [[nodiscard]] static Turn turn_of(const LeasedInstance& leased);
  [[nodiscard]] Counts& at(const InstanceId& instance, const Turn& turn);

  const std::size_t max_remembered_;
  std::unordered_map<InstanceId, Entry> lost_;
};

}  // namespace duramen::inline v0::runtime
