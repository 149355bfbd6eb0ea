// A disk in memory under SQLite, with a plug that can be pulled.
//
// While one exists it is SQLite's default file system of this process, so a store opened by its ordinary path
// lives on it: the file, its log and the index of the log. It knows for every file what has been synced and
// what has only been written, and for the directory which entries have been synced. It can fail any
// operation, and it can lose power: then nothing works until power is back, and of what was not synced any
// part may be gone.
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

  // -- what happens when
  // --------------------------------------------------------------------------------------- Counted are
  // openings, writes, syncs, truncations and removals, from 1.

  [[nodiscard]] std::uint64_t operations() const;
  /// Which of them were syncs.
  [[nodiscard]] std::set<std::uint64_t> syncs() const;

  enum class Fault {
    full,      ///< no space: SQLITE_FULL
    io_error,  ///< EIO
    /// EIO of the first sync from there on, after which the system takes the pages for clean: only writing
    /// them again helps.
    lost_sync,
  };
  /// The nth operation from the beginning fails; with `lasting`, so does every one after it that needs space
  /// (full) or writes at all (io_error).
  void fail_at(std::uint64_t nth, Fault fault, bool lasting);
  /// Every read fails.
  void fail_reads(bool fail);
  /// Every byte of the file from there on is another one.
  void damage(const std::string& path, std::size_t from);
  /// From now on operations that need space fail.
  void fill() { fail_at(operations() + 1, Fault::full, true); }
  /// Nothing fails any more.
  void repair();
  /// How often something has failed since the last repair.
  [[nodiscard]] std::uint64_t failures() const;

  /// Something that happens, on another thread as it were, during the nth operation. It must not use the
  /// disk.
  void during(std::uint64_t nth, std::function<void()> what);

  /// Power goes in the middle of the nth operation.
  void cut_power_at(std::uint64_t nth);
  void cut_power();
  [[nodiscard]] bool has_power() const;

  /// What is left of unsynced changes after a power cut.
  struct Survival {
    double chance = 0;          ///< of each sector, truncation and directory entry
    std::size_t sector = 4096;  ///< 512 or 4096: what is written or not as a whole
  };
  /// Power is back. Whoever had files open has lost them.
  void restore_power(std::mt19937_64& random, const Survival& survival);
  /// Instead: not power was lost, only the process died. Everything written is there, synced or not; open
  /// files, locks and the index of the log are gone.
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
  /// Counts an operation; says with which SQLite code it fails, if it does.
  std::optional<int> count(Operation operation, bool needs_space);
  [[nodiscard]] int failing(Operation operation) const;
  void survive(File& file, std::mt19937_64& random, const Survival& survival);
  void forget_processes();

  mutable std::mutex mutex_;
  std::unique_ptr<sqlite3_vfs> vfs_;
  Directory directory_;
  Directory synced_directory_;
  std::uint64_t epoch_ = 0;  ///< files opened before the last crash belong to an earlier one
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
