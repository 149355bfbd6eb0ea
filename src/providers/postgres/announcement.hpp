// The part of a call's notices that goes to other processes.
#pragma once

#include "providers/common/notices.hpp"
#include <duramen/provider.hpp>

#include <set>
#include <string>
#include <string_view>

namespace duramen::inline v0::postgres::detail {

/// The topics, and the nodes whose leases were stolen. It names no instance: there may be too many.
struct Announcement {
  bool turns_ready = false;
  bool activities_ready = false;
  bool instances = false;
  bool stolen_from_all = false;
  std::set<std::string> stolen_from;
  bool listener_joined = false;  ///< another process began to listen

  [[nodiscard]] bool empty() const noexcept {
    return !turns_ready && !activities_ready && !instances && !stolen_from_all && stolen_from.empty() &&
           !listener_joined;
  }
  /// True if it neither makes work nor stops any: only waiters for an instance want to know.
  [[nodiscard]] bool can_wait() const noexcept {
    return !turns_ready && !activities_ready && !stolen_from_all && stolen_from.empty() && !listener_joined;
  }
  [[nodiscard]] bool concerns(const NodeId& node) const {
    return !node.empty() && (stolen_from_all || stolen_from.contains(node.value));
  }
  void add(const providers::Notices& notices);

  /// The payload of a NOTIFY, which must be short: a letter for each topic, then the nodes, each after a tab.
  /// Too many nodes become "all".
  [[nodiscard]] std::string to_payload() const;
  [[nodiscard]] static Announcement from_payload(std::string_view payload);
  /// All topics: for listeners that may have missed an announcement.
  [[nodiscard]] static Announcement of_everything();
};

}  // namespace duramen::inline v0::postgres::detail
