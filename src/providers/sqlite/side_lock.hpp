// The side file `<path>-lock`: whose turn it is to write, and who is there.
//
// SQLite's own write lock is unfair between processes: one side can wait for seconds. Every write transaction
// and every checkpoint of a store therefore runs under a lock on the first byte of this file. That lock alone
// would not be fair either: whoever gives it back and wants it again at once is faster than a sleeper that
// has to be woken. So the way to it leads through the third byte, held while one waits for the first: who has
// just written stands behind who is waiting. The second byte is held shared by every open store, so that a
// writer can tell whether anybody else would want to hear of its commit. They are locks of the open file, not
// of the process: two stores in one process count as two, and a process that dies gives them back.
#pragma once

#include <atomic>
#include <string>

namespace duramen::inline v0::sqlite::detail {

class SideLock {
 public:
  /// Opens or creates the file and takes a place among those present. Throws StoreError.
  explicit SideLock(const std::string& path);
  ~SideLock();
  SideLock(const SideLock&) = delete;
  SideLock& operator=(const SideLock&) = delete;

  /// Waits for the turn to write. One thread of a store at a time.
  void lock();
  void unlock() noexcept;
  /// Whether it was not to be had at once the last time. Any thread.
  [[nodiscard]] bool was_waited_for() const noexcept { return waited_for_; }

  /// True if no other store has this file open. What it says may be old by the time it is read; whoever comes
  /// later reads what was committed before.
  [[nodiscard]] bool alone() const noexcept;

 private:
  int file_ = -1;
  std::atomic<bool> waited_for_ = false;
};

}  // namespace duramen::inline v0::sqlite::detail
