// Operations on many instances.
//
// Each call visits the matching instances page by page, newest first. Instances created during the call are
// skipped. Each instance is handled in one transaction; an instance that changed after it was listed is
// skipped.
//
// A store error ends the call. Completed work stays; calling again continues with the rest.
#pragma once

#include <duramen/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace duramen::inline v0 {

struct BulkOptions {
  bool dry_run = false;                                         ///< only report what would be done
  std::size_t limit = std::numeric_limits<std::size_t>::max();  ///< process at most this many instances
};

struct CancelReport {
  std::vector<InstanceId> matched;
  std::vector<InstanceId> requested;  ///< the request is durable
  /// Had been asked to stop before, at least as strongly, and has not ended yet: the request leaves no trace.
  std::vector<InstanceId> already_requested;
  /// Had ended, or was deleted, before the request arrived.
  std::vector<InstanceId> already_finished;
};

struct DeleteReport {
  std::vector<InstanceId> matched;  ///< roots; their subtrees are included
  std::vector<InstanceId> deleted;
  /// Kept, because an instance in the tree has not ended.
  std::vector<InstanceId> not_finished;
  std::uint64_t instances = 0;  ///< including all instances of the trees
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
