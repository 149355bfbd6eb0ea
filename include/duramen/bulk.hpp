// Doing one thing to many instances.
//
// Each call goes through the instances that match, page by page, newest first; those created meanwhile are
// left alone. Every instance is one decision of the store: one that changed since it was listed is skipped,
// never torn.
//
// An error of the store ends the call; what was done by then stays done, and calling again goes on with the
// rest.
#pragma once

#include <duramen/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace duramen::inline v0 {

struct BulkOptions {
  bool dry_run = false;                                         ///< only find out what would be done
  std::size_t limit = std::numeric_limits<std::size_t>::max();  ///< do at most so many instances
};

struct CancelReport {
  std::vector<InstanceId> matched;
  std::vector<InstanceId> requested;         ///< the request is durable
  std::vector<InstanceId> already_finished;  ///< had ended, or was deleted, by the time the request came
};

struct DeleteReport {
  std::vector<InstanceId> matched;  ///< roots; what is below them goes with them
  std::vector<InstanceId> deleted;
  std::vector<InstanceId> not_finished;  ///< kept, because something in the tree has not ended
  std::uint64_t instances = 0;           ///< the trees included
  std::uint64_t executions = 0;
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
};

struct PruneReport {
  std::vector<InstanceId> matched;
  std::uint64_t executions = 0;
  std::uint64_t events = 0;
};

}  // namespace duramen::inline v0
