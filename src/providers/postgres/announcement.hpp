// The part of a call's notices that goes to other processes.
#pragma once

#include "providers/common/notices.hpp"
#include <duramen/provider.hpp>

#include <set>
#include <string>
#include <string_view>

namespace duramen::inline v0::postgres::detail {

/// What is said across processes: kinds, and who was robbed. No instance is named: there may be too many.
struct Announcement {
  bool turns_ready = false;
  bool activities_ready = false;
  bool instances = false;
  bool stolen_from_all = false;
  std::set<std::string> stolen_from;
  bool listener_joined = false;  ///< somebody new listens

  [[nodiscard]] bool empty() const noexcept {
    return !turns_ready && !activities_ready && !instances && !stolen_from_all && stolen_from.empty() &&
           !listener_joined;
  }
  /// Nobody has work to do because of it, or to stop; only those who wait for an instance want to know.
  [[nodiscard]] bool can_wait() const noexcept {
    return !turns_ready && !activities_ready && !stolen_from_all && stolen_from.empty() && !listener_joined;
  }
  [[nodiscard]] bool concerns(const NodeId& node) const {
    return !node.empty() && (stolen_from_all || stolen_from.contains(node.value));
  }
  void add(const providers::Notices& notices);

  /// As the payload of a NOTIFY, which must be short: letters for kinds, then nodes, each after a tab. Too
  /// many become "all".
  [[nodiscard]] std::string to_payload() const;
  [[nodiscard]] static Announcement from_payload(std::string_view payload);
  /// Everything: for those who may have missed something.
  [[nodiscard]] static Announcement of_everything();
};

}  // namespace duramen::inline v0::postgres::detail
