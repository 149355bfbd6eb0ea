#include "providers/sqlite/writer.hpp"

#include "providers/sqlite/error.hpp"
#include "providers/sqlite/file_check.hpp"
#include "providers/sqlite/schema.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/wal_file.hpp"
#include <duramen/detail/mutant.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace duramen::inline v0::sqlite::detail {

namespace {

// The size of a page in the WAL with its frame header.
constexpr std::size_t frame_bytes = 4096 + 24;
// A checkpoint waits this long for readers; then the WAL grows until the next try.
constexpr int checkpoint_patience_ms = 20;
constexpr int write_lock_timeout_ms = 5000;
constexpr int open_attempts = 500;

bool is_memory(const std::string& path) { return path == ":memory:"; }

int frames_in(std::size_t bytes) {
  constexpr std::size_t most = 1u << 30;
  return static_cast<int>(std::clamp<std::size_t>(bytes / frame_bytes, 1, most));
}

/// Replaces SQLite's own busy handler, which ignores an interrupt.
int wait_for_readers(void* preempt, int times_before) {
  if (times_before == checkpoint_patience_ms || static_cast<std::stop_token*>(preempt)->stop_requested())
    return 0;
  std::this_thread::sleep_for(std::chrono::milliseconds{1});
  return 1;
}

bool is_failed_sync(int code) { return code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC; }

}  // namespace

Writer::Writer(const Options& options)
    : clock_(options.clock != nullptr ? *options.clock : system_clock()),
      path_(options.path),
      durable_(options.durability == Options::Durability::full && !is_memory(options.path)),
      frames_at_most_(frames_in(options.max_wal_bytes)),
      frames_to_checkpoint_(std::max(1, frames_at_most_ / 6 * 5)) {
  if (options.path.empty()) {
    throw StoreError({ErrorCode::invalid_argument, "", "the path of the store is empty; name a file", false});
  }
  if (!is_memory(options.path)) check_files(options.path);
  connection_ = std::make_unique<Connection>(options.path, Connection::Mode::read_write);
  begin_ = std::make_unique<Statement>(*connection_, "BEGIN IMMEDIATE");
  commit_ = std::make_unique<Statement>(*connection_, "COMMIT");
  rollback_ = std::make_unique<Statement>(*connection_, "ROLLBACK");
  if (is_memory(options.path)) {
    migrate_schema(*connection_, options);
    boot_ = current_boot_number(*connection_);
  } else {
    // Checks the schema before it writes next to a file that may belong to another program. In that case its
    // WAL stays unchanged as well.
    const bool finds_log = has_log(options.path);
    if (finds_log) connection_->checkpoint_on_close(false);
    check_schema(*connection_, options);
    if (finds_log) connection_->checkpoint_on_close(true);
    side_lock_ = std::make_unique<SideLock>(options.path + "-lock");
    bell_ = std::make_unique<Bell>(options.path + "-bell");
    prepare_file(options);
  }
  numbers_ = std::make_unique<NumberAllocator>(*connection_);
  data_version_ = std::make_unique<Statement>(*connection_, "PRAGMA data_version");
  schema_version_ = std::make_unique<Statement>(*connection_, "SELECT version FROM duramen_schema");
  (void)changed_by_others();
}

Writer::~Writer() {
  // The last connection that closes checkpoints the WAL, so closing needs the write lock.
  bool locked = false;
  if (side_lock_) {
    try {
      side_lock_->lock();
      locked = true;
    } catch (const std::exception&) {
      // SQLite itself closes without this lock.
    }
  }
  // Leaves the WAL for the next store that opens the file.
  if (wal_is_suspect_) connection_->checkpoint_on_close(false);
  numbers_.reset();
  begin_.reset();
  commit_.reset();
  rollback_.reset();
  data_version_.reset();
  schema_version_.reset();
  connection_.reset();
  if (locked) side_lock_->unlock();
}

void Writer::prepare_file(const Options& options) {
  side_lock_->lock();
  try {
    use_wal();
    connection_->execute("PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-16384;");
    connection_->execute(durable_ ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=OFF");
    migrate_schema(*connection_, options);
    boot_ = current_boot_number(*connection_);
    if (durable_) prepare_log(options.initial_wal_bytes);
    sqlite3_wal_hook(connection_->handle(), &Writer::on_wal_commit, this);
  } catch (...) {
    side_lock_->unlock();
    throw;
  }
  side_lock_->unlock();
}

void Writer::use_wal() {
  // Changing the mode needs exclusive access for a moment, and SQLite does not wait for it: another process
  // may be opening the file now.
  for (int attempt = 1;; ++attempt) {
    try {
      if (connection_->query_text("PRAGMA journal_mode=WAL") == "wal") return;
      throw StoreError({ErrorCode::unavailable, "",
                        "this file system cannot share memory, which a store needs; use a local directory",
                        false});
    } catch (const SqlError& e) {
      if (e.primary_code() != SQLITE_BUSY || attempt == open_attempts) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
  }
}

void Writer::prepare_log(std::size_t bytes) {
  // The write lock prevents appends during this.
  begin_->execute();
  try {
    WalFile log{*connection_};
    const std::int64_t found = log.size();
    // Commits of a process that died may not be synced, but readers will soon see them as stored.
    if (found > 0 && side_lock_->alone()) log.rewrite();
    // Zeros after the last frame are not a frame: SQLite reads a WAL up to the first frame with a wrong
    // checksum. Allocating is only an optimisation, so a failure does not matter.
    const bool grown = log.grow(found, static_cast<std::int64_t>(bytes));
    if (found > 0 || grown) log.sync();
    commit_->execute();
  } catch (...) {
    if (connection_->in_transaction()) rollback_->execute();
    throw;
  }
}

void Writer::sync_wal() {
  if (!wal_is_suspect_) return;
  WalFile log{*connection_};
  log.rewrite();
  log.sync();
  wal_is_suspect_ = false;
}

void Writer::set_synchronous(CommitSync promise) {
  if (!durable_ || synchronous_ == promise) return;
  connection_->execute(promise == CommitSync::durable ? "PRAGMA synchronous=FULL"
                                                      : "PRAGMA synchronous=NORMAL");
  synchronous_ = promise;
}

int Writer::on_wal_commit(void* self, sqlite3*, const char*, int frames) {
  static_cast<Writer*>(self)->wal_frames_ = frames;
  return SQLITE_OK;
}

bool Writer::wal_grew_by(int wanted) const noexcept {
  const int frames = wal_frames_;
  const int done = checkpointed_frames_;
  // Fewer than before: SQLite has restarted the WAL.
  return frames - (frames < done ? 0 : done) >= wanted;
}

void Writer::limit_wal() noexcept {
  if (side_lock_ && wal_grew_by(frames_at_most_)) checkpoint_wal(frames_at_most_, {});
}

bool Writer::wants_maintenance() const noexcept { return side_lock_ && wal_grew_by(frames_to_checkpoint_); }

void Writer::maintain(const std::stop_token& preempt) noexcept {
  if (wants_maintenance()) checkpoint_wal(frames_to_checkpoint_, preempt);
}

void Writer::checkpoint_wal(int when_grown_by, const std::stop_token& preempt) noexcept {
  // An urgent commit is queued behind us; do not compete with it for the write lock.
  if (preempt.stop_requested()) return;
  try {
    const std::lock_guard guard{mutex_};
    if (preempt.stop_requested()) return;
    if (!wal_grew_by(when_grown_by)) return;  // another thread has checkpointed
    // Checkpointing pages of the WAL that may not be on the disk could mix states after a power failure. The
    // next transaction syncs the WAL first.
    if (wal_is_suspect_) return;
    side_lock_->lock();
    const int code = checkpoint(preempt);
    side_lock_->unlock();
    if (code == SQLITE_INTERRUPT) return;  // still due
    if (code == SQLITE_OK) wal_frames_ = 0;
    if (is_failed_sync(code)) wal_is_suspect_ = true;
    checkpointed_frames_ = wal_frames_.load();
  } catch (const std::exception&) {
    checkpointed_frames_ = wal_frames_.load();
  }
}

int Writer::checkpoint(const std::stop_token& preempt) {
  if (preempt.stop_requested()) return SQLITE_INTERRUPT;
  sqlite3* const handle = connection_->handle();
  std::stop_token while_readers_are_there = preempt;
  sqlite3_busy_handler(handle, &wait_for_readers, &while_readers_are_there);
  int code = SQLITE_OK;
  {
    // An interrupted checkpoint has only copied pages, which the next one copies again. SQLite ignores an
    // interrupt that comes too late once the next statement begins.
    const std::stop_callback interrupt{preempt, [handle] { sqlite3_interrupt(handle); }};
    code = sqlite3_wal_checkpoint_v2(handle, nullptr, SQLITE_CHECKPOINT_RESTART, nullptr, nullptr);
  }
  sqlite3_busy_timeout(handle, write_lock_timeout_ms);
  return code == SQLITE_BUSY && preempt.stop_requested() ? SQLITE_INTERRUPT : code;
}

bool Writer::changed_by_others() noexcept {
  try {
    const std::unique_lock guard{mutex_, std::try_to_lock};
    if (!guard) return false;
    Cursor run = data_version_->run();
    if (!run.step()) return false;
    return run.integer(0) != std::exchange(last_data_version_, run.integer(0));
  } catch (const std::exception&) {
    return false;
  }
}

/// Another process may have migrated the file. Only a transaction after one of another process reads the
/// version.
void Writer::check_schema_version() {
  if (in_memory() || connection_->content_version() == seen_content_) return;
  Cursor run = schema_version_->run();
  const std::int64_t stored = run.step() ? run.integer(0) : 0;
  if (!duramen::detail::mutant("a_migrated_file_is_written_on")) check_still_current(stored, path_);
}

Counters Writer::counters() const noexcept {
  return {
      .synced_commits = synced_commits_, .unsynced_commits = unsynced_commits_, .row_writes = row_writes_};
}

Writer::Transaction::Transaction(Writer& writer, CommitSync promise)
    : writer_(writer), promise_(promise), changes_before_(writer.connection_->total_changes()) {
  if (writer_.side_lock_) writer_.side_lock_->lock();
  try {
    writer_.set_synchronous(promise);
    writer_.begin_->execute();
    writer_.check_schema_version();
    writer_.sync_wal();
    open_ = true;
  } catch (...) {
    roll_back();
    if (writer_.side_lock_) writer_.side_lock_->unlock();
    throw;
  }
}

Writer::Transaction::~Transaction() {
  if (open_) {
    writer_.numbers_->forget();
    roll_back();
  }
  if (writer_.side_lock_) writer_.side_lock_->unlock();
}

void Writer::Transaction::roll_back() noexcept {
  // After some errors SQLite has already rolled back.
  try {
    if (writer_.connection_->in_transaction()) writer_.rollback_->execute();
  } catch (const std::exception&) {
    // The next BEGIN reports the problem.
  }
}

void Writer::Transaction::commit() {
  try {
    writer_.commit_->execute();
  } catch (const SqlError& error) {
    if (is_failed_sync(error.code())) writer_.wal_is_suspect_ = true;
    throw;
  }
  open_ = false;
  writer_.seen_content_ = writer_.connection_->content_version();
  const std::uint64_t changes = writer_.connection_->total_changes() - changes_before_;
  // No page was written, so nothing was synced.
  if (changes == 0) return;
  writer_.row_writes_ += changes;
  if (promise_ == CommitSync::durable && writer_.durable_)
    ++writer_.synced_commits_;
  else
    ++writer_.unsynced_commits_;
}

}  // namespace duramen::inline v0::sqlite::detail
