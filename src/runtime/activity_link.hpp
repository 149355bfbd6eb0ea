// The way from an activity to the node that runs it.
//
// A coroutine activity that waits in an awaitable of the user can outlive its node: the user's code may
// resume it at any time. So activities reach the node only through this link, which they share. The node
// closes it at its end; from then on the calls of an ActivityContext do nothing.
#pragma once

#include "runtime/lease_keeper.hpp"
#include "runtime/log.hpp"
#include <duramen/detail/mutant.hpp>
#include <duramen/env.hpp>
#include <duramen/ids.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace duramen::inline v0::detail {

/// The parts of a node that its activities use.
struct ActivityHost {
  const NodeId& node;
  Env& env;
  runtime::LeaseKeeper& leases;
  const runtime::Log& log;
  std::size_t max_payload_bytes;
  std::string_view store_id;
};

class ActivityLink {
 public:
  explicit ActivityLink(const ActivityHost& host)
      : node_(host.node), max_payload_bytes_(host.max_payload_bytes), store_id_(host.store_id), host_(host) {}
  ActivityLink(const ActivityLink&) = delete;
  ActivityLink& operator=(const ActivityLink&) = delete;

  /// Valid after the end of the node as well.
  [[nodiscard]] const NodeId& node() const noexcept { return node_; }
  [[nodiscard]] std::size_t max_payload_bytes() const noexcept { return max_payload_bytes_; }
  [[nodiscard]] const std::string& store_id() const noexcept { return store_id_; }

  /// Calls `use(host)` and returns true; once the link is closed, makes no call and returns false. Any
  /// thread.
  template <class Use>
  bool use(Use&& use) {
    const Visit visit(*this);
    if (visit.refused) return false;
    std::forward<Use>(use)(host_);
    return true;
  }

  /// No call of `use` begins after this. Returns when the calls under way have returned.
  void close() noexcept {
    if (mutant("activity_link_stays_open")) return;
    visits_.fetch_or(closed);
    for (std::uint64_t now = visits_.load(); now != closed; now = visits_.load()) visits_.wait(now);
  }

 private:
  static constexpr std::uint64_t closed = 1;
  static constexpr std::uint64_t one_visit = 2;

  struct Visit {
    explicit Visit(ActivityLink& to) noexcept
        : link(to), refused((to.visits_.fetch_add(one_visit) & closed) != 0) {}
    ~Visit() {
      if (link.visits_.fetch_sub(one_visit) == (closed | one_visit)) link.visits_.notify_all();
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    ActivityLink& link;
    const bool refused;
  };

  const NodeId node_;
  const std::size_t max_payload_bytes_;
  const std::string store_id_;
  const ActivityHost host_;  // used in visits only
  // How many are under way, above the bit `closed`.
  std::atomic<std::uint64_t> visits_{0};
};

}  // namespace duramen::inline v0::detail
