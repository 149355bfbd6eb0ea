// The side file `<path>-lock`: a fair write lock, and the presence of other stores.
//
// SQLite's own write lock is unfair between processes: one side can wait for seconds. Every write transaction
// and every checkpoint of a store therefore runs under a lock on the first byte of this file. That lock alone
// would not be fair either: a writer that releases it and wants it again at once is faster than a sleeper
// that must wake up. So a writer first locks the third byte and holds it while it waits for the first: a
// store that has just written queues behind a waiting one. Every open store holds a shared lock on the second
// byte, so that a writer knows whether another store needs its notices. They are locks of the open file, not
// of the process: two stores in one process count as two, and the kernel releases the locks of a process that
// dies.
#pragma once

#include <atomic>
#include <string>

namespace duramen::inline v0::sqlite::detail {

class SideLock {
 public:
  /// Opens or creates the file and marks this store as present. Throws StoreError.
  explicit SideLock(const std::string& path);
  ~SideLock();
  SideLock(const SideLock&) = delete;
  SideLock& operator=(const SideLock&) = delete;

  /// Waits for the write lock. One thread of a store at a time.
  void lock();
  void unlock() noexcept;
  /// True if the last lock() had to wait. Any thread.
  [[nodiscard]] bool was_waited_for() const noexcept { return waited_for_; }

  /// True if no other store has this file open. The answer may be outdated when it is read; a store that
  /// opens the file later reads all earlier commits.
  [[nodiscard]] bool alone() const noexcept;

 private:
  int file_ = -1;
  std::atomic<bool> waited_for_ = false;
};

}  // namespace duramen::inline v0::sqlite::detail
