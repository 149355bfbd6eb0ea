// Fresh stores for single runs, and their factories.
#pragma once

#include "bench/arguments.hpp"
#include "bench/workloads/hello_turns.hpp"
#include <duramen/provider.hpp>
#include <duramen/store.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace bench {

/// A fresh directory, removed with its content.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::filesystem::path& parent);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// The work of a store up to a moment.
struct StoreCounts {
  std::uint64_t synced_commits = 0;
  std::uint64_t row_writes = 0;    ///< if the store counts them
  std::uint64_t log_position = 0;  ///< if they are read from its log
};

/// The work between two moments.
struct Spent {
  double synced_commits = 0;
  std::optional<double> row_writes;  ///< absent: unknown
};

/// Empty at first; closed and removed with this object.
class BenchStore {
 public:
  virtual ~BenchStore() = default;

  [[nodiscard]] virtual const std::shared_ptr<duramen::Provider>& provider() const noexcept = 0;
  [[nodiscard]] virtual StoreCounts counts() const = 0;
  /// Slow: do not call it while time is measured.
  [[nodiscard]] virtual Spent spent_since(const StoreCounts& before) const = 0;
  /// The argument of open_store() in another process.
  [[nodiscard]] virtual std::string address() const = 0;
  /// Closes the store and returns its size. It must not be used afterwards.
  [[nodiscard]] virtual double close_and_weigh() = 0;
  /// Its calls to a server; absent without a server.
  [[nodiscard]] virtual std::optional<std::uint64_t> queries() const { return std::nullopt; }
  /// A reader that sees the store as it is now, until the result is destroyed. Null: the store has none.
  [[nodiscard]] virtual std::shared_ptr<void> hold_snapshot() const { return nullptr; }
};

/// Makes fresh stores of one kind.
class StoreSource {
 public:
  virtual ~StoreSource() = default;

  [[nodiscard]] virtual std::unique_ptr<BenchStore> make() const = 0;
  /// A store with `count` finished hellos that does not sync: the wait for the disk would hide their
  /// cost.
  [[nodiscard]] virtual std::unique_ptr<BenchStore> make_with_finished(const HelloTurns& turns,
                                                                       std::size_t count) const = 0;
  /// The durability: "full" or "none".
  [[nodiscard]] virtual std::string durability() const = 0;
  /// True if the store waits for the disk of the scene's directory.
  [[nodiscard]] virtual bool on_this_disk() const = 0;
  /// The server and its version; empty without a server.
  [[nodiscard]] virtual std::string server() const { return {}; }
};

/// `directory`: the place of files. Throws BadArguments, std::runtime_error.
[[nodiscard]] std::unique_ptr<StoreSource> make_store_source(const Arguments& arguments,
                                                             const std::filesystem::path& directory);

/// Opens a store by an address from BenchStore::address().
[[nodiscard]] duramen::Store open_store(const std::string& address);

}  // namespace bench
