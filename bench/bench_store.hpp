// A fresh store for one run, and where such stores come from.
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

/// A fresh directory, removed with everything in it.
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

/// What a store has done up to a moment.
struct StoreCounts {
  std::uint64_t synced_commits = 0;
  std::uint64_t row_writes = 0;    ///< of a store that counts them
  std::uint64_t log_position = 0;  ///< of one that must read them from its log
};

/// What it has done between two moments.
struct Spent {
  double synced_commits = 0;
  std::optional<double> row_writes;  ///< absent: not to be known
};

/// Empty at first; closed and removed with this object.
class BenchStore {
 public:
  virtual ~BenchStore() = default;

  [[nodiscard]] virtual const std::shared_ptr<duramen::Provider>& provider() const noexcept = 0;
  [[nodiscard]] virtual StoreCounts counts() const = 0;
  /// Takes a while: not to be called where time is measured.
  [[nodiscard]] virtual Spent spent_since(const StoreCounts& before) const = 0;
  /// For open_store(), in another process.
  [[nodiscard]] virtual std::string address() const = 0;
  /// Closes it and says how large it is. Nobody may use it any more.
  [[nodiscard]] virtual double close_and_weigh() = 0;
  /// What it has asked of a server; absent where there is none.
  [[nodiscard]] virtual std::optional<std::uint64_t> queries() const { return std::nullopt; }
};

/// Makes fresh stores of one kind.
class StoreSource {
 public:
  virtual ~StoreSource() = default;

  [[nodiscard]] virtual std::unique_ptr<BenchStore> make() const = 0;
  /// One that holds so many finished hellos, and does not sync: the wait for the disk would hide what they
  /// cost.
  [[nodiscard]] virtual std::unique_ptr<BenchStore> make_with_finished(const HelloTurns& turns,
                                                                       std::size_t count) const = 0;
  /// What a promise to keep something is worth: "full" or "none".
  [[nodiscard]] virtual std::string durability() const = 0;
  /// The disk in the scene's directory is the one that is waited for.
  [[nodiscard]] virtual bool on_this_disk() const = 0;
  /// The server and its version; empty where there is none.
  [[nodiscard]] virtual std::string server() const { return {}; }
};

/// `directory`: where files go. Throws BadArguments, std::runtime_error.
[[nodiscard]] std::unique_ptr<StoreSource> make_store_source(const Arguments& arguments,
                                                             const std::filesystem::path& directory);

/// Opens a store by the address that BenchStore::address() gave.
[[nodiscard]] duramen::Store open_store(const std::string& address);

}  // namespace bench
