// One SQLite file as the store: nothing to install, no server to run.
#pragma once

#include <duramen/management.hpp>
#include <duramen/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace duramen::inline v0 {
namespace sqlite {

struct Options {
  /// A file, created if it does not exist; ":memory:" for a store that ends with the process.
  std::string path;
  /// The source of time; the machine's clocks by default, another one in tests. Must outlive the store.
  const Clock* clock = nullptr;
  /// full: a commit that returned survives power loss. off: for tests and throw-away data.
  enum class Durability { full, off } durability = Durability::full;
  /// The WAL is extended to this size when the store opens: appending within a file's size is cheaper.
  std::size_t initial_wal_bytes = 4u << 20;
  /// The WAL is checkpointed at this size, or slightly earlier when the store is idle. A larger limit writes
  /// less in total. A large transaction or a long read can exceed it.
  std::size_t max_wal_bytes = 14u << 20;
  /// The file may contain tables of another program. Those of the store begin with "duramen_", and a file in
  /// which another program has such a name is refused; application_id and user_version are left alone.
  bool share_file = false;
  /// A store of an earlier version is migrated when it is opened. False: it is refused.
  bool migrate = true;
};

/// Counters of a store since it was opened; for benchmarks and tests.
struct Counters {
  std::uint64_t synced_commits = 0;    ///< transactions that waited for the disk
  std::uint64_t unsynced_commits = 0;  ///< lease-only transactions
  std::uint64_t row_writes = 0;        ///< rows inserted, updated or deleted
  /// Parked messages dropped because their instance was never started.
  std::uint64_t expired_messages = 0;
  /// Messages that fetches found but could not read; see LeasedInstance::unreadable.
  std::uint64_t unreadable_messages = 0;
};

/// Opens or creates the file. The error names the problem of the file and what to do.
[[nodiscard]] Result<std::shared_ptr<Provider>> open_provider(const Options& options);

/// The same as a Store; throws BadResult with the error's text.
[[nodiscard]] Store open(const std::string& path);
[[nodiscard]] Store open(const Options& options);

/// Counters of a provider made by this header; zero for any other.
[[nodiscard]] Counters counters(const Provider& provider);

/// The current schema version of a provider made by this header; nothing for any other.
[[nodiscard]] Result<std::optional<SchemaVersion>> schema_version(Provider& provider);

}  // namespace sqlite
}  // namespace duramen::inline v0
