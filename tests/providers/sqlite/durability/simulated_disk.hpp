// A disk in memory under SQLite, with a power switch.
//
// While it exists, it is SQLite's default file system in this process, so a store opened by its ordinary path
// is on it: the file, its WAL and the index of the WAL. It knows for every file what was synced and what was
// only written, and for the directory which entries were synced. It can fail any operation, and it can lose
// power: then nothing works until the power is back, and any part of the unsynced data may be lost.
#pragma once

#include <duramen/sqlite.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

struct sqlite3_vfs;

namespace duramen::sqlite::test {

class SimulatedDisk {
 public:
  SimulatedDisk();
  ~SimulatedDisk();
  SimulatedDisk(const SimulatedDisk&) = delete;
  SimulatedDisk& operator=(const SimulatedDisk&) = delete;

  // -- operations, counted from 1: openings, writes, syncs, truncations and removals

  [[nodiscard]] std::uint64_t operations() const;
  /// The operations that were syncs.
  [[nodiscard]] std::set<std::uint64_t> syncs() const;

  enum class Fault {
    full,      ///< no space: SQLITE_FULL
    io_error,  ///< EIO
    /// EIO of the first sync from there on. The system then treats the pages as clean: only a second write
    /// helps.
    lost_sync,
  };
  /// The nth operation from the beginning fails; with `lasting`, also every later one that needs space (full)
  /// or writes (io_error).
  void fail_at(std::uint64_t nth, Fault fault, bool lasting);
  /// Every read fails.
  void fail_reads(bool fail);
  /// Changes every byte of the file from there on.
  void damage(const std::string& path, std::size_t from);
  /// From now on, operations that need space fail.
  void fill() { fail_at(operations() + 1, Fault::full, true); }
  /// Ends all faults.
  void repair();
  /// The number of failed operations since the last repair.
  [[nodiscard]] std::uint64_t failures() const;

  /// Runs a function during the nth operation, as another thread could. It must not use the disk.
  void during(std::uint64_t nth, std::function<void()> what);

  /// Cuts the power in the middle of the nth operation.
  void cut_power_at(std::uint64_t nth);
  void cut_power();
  [[nodiscard]] bool has_power() const;

  /// The part of unsynced changes that survives a power cut.
  struct Survival {
    double chance = 0;          ///< of each sector, truncation and directory entry
    std::size_t sector = 4096;  ///< 512 or 4096: written as a whole
  };
  /// Power is back. Files that were open are lost.
  void restore_power(std::mt19937_64& random, const Survival& survival);
  /// Instead: only the process died. All written data is there, synced or not; open files, locks and the
  /// index of the WAL are gone.
  void kill_processes();

  [[nodiscard]] bool exists(const std::string& path) const;

 private:
  friend struct Handle;
  friend struct Methods;

  struct Change {
    bool truncates = false;
    std::size_t at = 0;  ///< of a write; the new size of a truncation
    std::string bytes;
  };
  struct SharedMemory {
    std::vector<std::unique_ptr<char[]>> regions;
    int users = 0;
    int shared[8] = {};
    bool exclusive[8] = {};
  };
  struct File {
    std::string content;
    std::string synced;
    std::vector<Change> unsynced;
    std::vector<struct Handle*> handles;
    std::shared_ptr<SharedMemory> memory;
  };
  using Directory = std::map<std::string, std::shared_ptr<File>>;
  enum class Operation { open, write, sync, truncate, remove };

  static void apply(std::string& content, const Change& change);
  /// Counts an operation. Returns the SQLite code of its failure, if any.
  std::optional<int> count(Operation operation, bool needs_space);
  [[nodiscard]] int failing(Operation operation) const;
  void survive(File& file, std::mt19937_64& random, const Survival& survival);
  void forget_processes();

  mutable std::mutex mutex_;
  std::unique_ptr<sqlite3_vfs> vfs_;
  Directory directory_;
  Directory synced_directory_;
  std::uint64_t epoch_ = 0;  ///< increases with every crash
  bool power_ = true;
  std::uint64_t operations_ = 0;
  std::set<std::uint64_t> syncs_;
  std::map<std::uint64_t, std::function<void()>> during_;
  std::uint64_t power_cut_at_ = 0;
  std::uint64_t fail_at_ = 0;
  std::uint64_t failures_ = 0;
  Fault fault_ = Fault::full;
  bool lasting_ = false;
  bool reads_fail_ = false;
};

}  // namespace duramen::sqlite::test
