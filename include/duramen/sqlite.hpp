// One SQLite file as the store: nothing to install, nothing to run.
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
  /// A file, made if it does not exist; ":memory:" for a store that ends with the process.
  std::string path;
  /// Where the time comes from; the machine's clocks unless a test says otherwise. Must outlive the store.
  const Clock* clock = nullptr;
  /// full: a commit that returned survives power loss. off: for tests and throw-away data.
  enum class Durability { full, off } durability = Durability::full;
  /// The WAL is grown to this size when the store opens: appending to a file that has its size already is
  /// cheaper.
  std::size_t initial_wal_bytes = 4u << 20;
  /// The WAL is moved into the file when it has grown to this size, or a little earlier when nobody waits.
  /// The larger it may be, the less is written in all. It grows further by a large transaction, and while
  /// somebody reads for long.
  std::size_t max_wal_bytes = 14u << 20;
};

/// What a store has done since it was opened; for benchmarks and tests.
struct Counters {
  std::uint64_t synced_commits = 0;    ///< transactions that waited for the disk
  std::uint64_t unsynced_commits = 0;  ///< lease-only transactions
  std::uint64_t row_writes = 0;        ///< rows inserted, updated or deleted
  std::uint64_t expired_messages = 0;  ///< parked for an instance that never came, and dropped
  std::uint64_t unreadable_messages =
      0;  ///< found by fetches that could not read them; see LeasedInstance::unreadable
};

/// Opens or creates. The error says what is wrong with the file and what to do.
[[nodiscard]] Result<std::shared_ptr<Provider>> open_provider(const Options& options);

/// The same as a Store; throws BadResult with the error's text.
[[nodiscard]] Store open(const std::string& path);
[[nodiscard]] Store open(const Options& options);

/// Counters of a provider made by this header; zero for any other.
[[nodiscard]] Counters counters(const Provider& provider);

/// The schema of a provider made by this header, as its file has it now; nothing for any other.
[[nodiscard]] Result<std::optional<SchemaVersion>> schema_version(Provider& provider);

}  // namespace sqlite
}  // namespace duramen::inline v0
