// The one connection that writes, and the work around each of its transactions: the side lock, the sync, the
// checkpoint.
#pragma once

#include "providers/sqlite/bell.hpp"
#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/number_allocator.hpp"
#include "providers/sqlite/side_lock.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include <duramen/sqlite.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

namespace duramen::inline v0::sqlite::detail {

/// The failure that a transaction must survive once its call has returned.
enum class CommitSync {
  durable,  ///< power loss
  /// The death of the process: leases end with the boot of the machine.
  lease_only,
};

class Writer {
 public:
  /// Opens or creates the file, brings it to the current schema. Throws SqlError, StoreError.
  explicit Writer(const Options& options);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Runs `body(time)` as one write transaction; an exception rolls everything back.
  template <class Body>
  auto write(CommitSync promise, Body&& body) {
    const std::lock_guard guard{mutex_};
    Transaction transaction{*this, promise};
    auto answer = body(transaction_time());
    transaction.commit();
    return answer;
  }
  /// Runs `body(time)`, which only reads, between write transactions of this store.
  template <class Body>
  auto read(Body&& body) {
    const std::lock_guard guard{mutex_};
    return body(transaction_time());
  }

  /// Checkpoints the WAL if it has grown enough since the last time, unless `preempt` is requested. Seldom,
  /// so that pages that changed often are written back once. Never fails: the next call tries again.
  void maintain(const std::stop_token& preempt) noexcept;
  [[nodiscard]] bool wants_maintenance() const noexcept;
  /// The same if the WAL has grown so much that it cannot wait for `maintain`.
  void limit_wal() noexcept;
  /// True if another connection has committed since the last call. False if that cannot be determined now.
  [[nodiscard]] bool changed_by_others() noexcept;

  /// Now, in the form that rows contain.
  [[nodiscard]] TransactionTime transaction_time() const { return TransactionTime::of(clock_, boot_); }
  [[nodiscard]] Connection& connection() noexcept { return *connection_; }
  [[nodiscard]] NumberAllocator& numbers() noexcept { return *numbers_; }
  [[nodiscard]] const Clock& clock() const noexcept { return clock_; }
  [[nodiscard]] bool in_memory() const noexcept { return !side_lock_; }
  [[nodiscard]] Counters counters() const noexcept;
  /// Null in memory.
  [[nodiscard]] Bell* bell() noexcept { return bell_.get(); }
  /// True if the last transaction had to wait for a transaction of another store.
  [[nodiscard]] bool is_contended() const noexcept { return side_lock_ && side_lock_->was_waited_for(); }
  /// True if no other store has the file open.
  [[nodiscard]] bool alone() const noexcept { return !side_lock_ || side_lock_->alone(); }

 private:
  /// Ends with a rollback unless it was committed. The mutex is held around it.
  class Transaction {
   public:
    Transaction(Writer& writer, CommitSync promise);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit();

   private:
    void roll_back() noexcept;

    Writer& writer_;
    const CommitSync promise_;
    const std::uint64_t changes_before_;
    bool open_ = false;
  };

  void prepare_file(const Options& options);
  void use_wal();
  void prepare_log(std::size_t bytes);
  void check_schema_version();
  /// Syncs the whole WAL, or throws. For use inside a write transaction.
  void sync_wal();
  void set_synchronous(CommitSync promise);
  [[nodiscard]] bool wal_grew_by(int frames) const noexcept;
  void checkpoint_wal(int when_grown_by, const std::stop_token& preempt) noexcept;
  [[nodiscard]] int checkpoint(const std::stop_token& preempt);
  static int on_wal_commit(void* self, sqlite3* connection, const char* name, int frames);

  // Fixed once opened.
  const Clock& clock_;
  const std::string path_;
  const bool durable_;
  const int frames_at_most_;
  const int frames_to_checkpoint_;
  std::int64_t boot_ = 1;
  std::unique_ptr<SideLock> side_lock_;
  std::unique_ptr<Bell> bell_;

  // Guarded by mutex_.
  std::mutex mutex_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<NumberAllocator> numbers_;
  std::unique_ptr<Statement> begin_;
  std::unique_ptr<Statement> commit_;
  std::unique_ptr<Statement> rollback_;
  std::unique_ptr<Statement> data_version_;
  std::unique_ptr<Statement> schema_version_;
  std::uint32_t seen_content_ = 0;  // after the last commit
  CommitSync synchronous_ = CommitSync::durable;
  // A sync of the WAL failed: its pages may be on no disk.
  bool wal_is_suspect_ = false;
  std::int64_t last_data_version_ = 0;

  std::atomic<int> wal_frames_ = 0;
  std::atomic<int> checkpointed_frames_ = 0;
  std::atomic<std::uint64_t> synced_commits_ = 0;
  std::atomic<std::uint64_t> unsynced_commits_ = 0;
  std::atomic<std::uint64_t> row_writes_ = 0;
};

}  // namespace duramen::inline v0::sqlite::detail
