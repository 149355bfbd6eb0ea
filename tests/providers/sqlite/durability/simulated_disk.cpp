#include "providers/sqlite/durability/simulated_disk.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace duramen::sqlite::test {

/// An open file. SQLite keeps only a pointer to it.
struct Handle {
  SimulatedDisk* disk = nullptr;
  std::shared_ptr<SimulatedDisk::File> file;
  std::shared_ptr<SimulatedDisk::SharedMemory> memory;
  std::uint64_t epoch = 0;
  int lock = SQLITE_LOCK_NONE;
  int last_errno = 0;            // of reading
  unsigned shared_locks = 0;     // bits of shared memory locks
  unsigned exclusive_locks = 0;  // likewise
  bool syncs_directory = false;  // first sync of a journal, as on Unix
  std::string remove_when_closed;

  /// True if its process has ended or the power is off.
  [[nodiscard]] bool dead() const { return epoch != disk->epoch_ || !disk->power_; }
};

namespace {

struct OpenFile {
  sqlite3_file base;
  Handle* handle;
};

Handle& handle_of(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file)->handle; }

SimulatedDisk& disk_of(sqlite3_vfs* vfs) { return *static_cast<SimulatedDisk*>(vfs->pAppData); }

thread_local int last_error = 0;

}  // namespace

struct Methods {
  using File = SimulatedDisk::File;
  using Operation = SimulatedDisk::Operation;
  using Guard = std::lock_guard<std::mutex>;

  // -- files ----------------------------------------------------------------------------------

  static int close(sqlite3_file* base) {
    std::unique_ptr<Handle> handle{&handle_of(base)};
    SimulatedDisk& disk = *handle->disk;
    const Guard guard{disk.mutex_};
    leave_memory(*handle);
    std::erase(handle->file->handles, handle.get());
    if (!handle->remove_when_closed.empty()) disk.directory_.erase(handle->remove_when_closed);
    return SQLITE_OK;
  }

  static int read(sqlite3_file* base, void* into, int amount, sqlite3_int64 at) {
    Handle& handle = handle_of(base);
    const Guard guard{handle.disk->mutex_};
    if (handle.dead()) return SQLITE_IOERR_READ;
    const bool behind = static_cast<std::size_t>(at) >= handle.file->content.size();  // needs no sector
    if (handle.disk->reads_fail_ && !behind) {
      ++handle.disk->failures_;
      last_error = handle.last_errno = EIO;
      return SQLITE_IOERR_CORRUPTFS;  // as a Unix file for EIO
    }
    const std::string& content = handle.file->content;
    const auto begin = std::min(static_cast<std::size_t>(at), content.size());
    const auto length = std::min(static_cast<std::size_t>(amount), content.size() - begin);
    std::memcpy(into, content.data() + begin, length);
    if (length == static_cast<std::size_t>(amount)) return SQLITE_OK;
    std::memset(static_cast<char*>(into) + length, 0, static_cast<std::size_t>(amount) - length);
    handle.last_errno = 0;
    return SQLITE_IOERR_SHORT_READ;
  }

  static int change(Handle& handle, SimulatedDisk::Change change, Operation operation,
                    std::size_t size_after) {
    SimulatedDisk& disk = *handle.disk;
    const Guard guard{disk.mutex_};
    if (handle.dead()) return SQLITE_IOERR_WRITE;
    const auto code = disk.count(operation, size_after > handle.file->content.size());
    if (code && disk.power_) return *code;
    // If the power fails in the middle of it, any part of the change may survive.
    SimulatedDisk::apply(handle.file->content, change);
    handle.file->unsynced.push_back(std::move(change));
    return code.value_or(SQLITE_OK);
  }

  static int write(sqlite3_file* base, const void* from, int amount, sqlite3_int64 at) {
    const auto begin = static_cast<std::size_t>(at);
    const auto length = static_cast<std::size_t>(amount);
    return change(handle_of(base), {false, begin, std::string(static_cast<const char*>(from), length)},
                  Operation::write, begin + length);
  }

  static int truncate(sqlite3_file* base, sqlite3_int64 size) {
    return change(handle_of(base), {true, static_cast<std::size_t>(size), {}}, Operation::truncate, 0);
  }

  static int sync(sqlite3_file* base, int) {
    Handle& handle = handle_of(base);
    SimulatedDisk& disk = *handle.disk;
    const Guard guard{disk.mutex_};
    if (handle.dead()) return SQLITE_IOERR_FSYNC;
    if (const auto code = disk.count(Operation::sync, false)) {
      const bool lost = disk.power_ && disk.fault_ == SimulatedDisk::Fault::lost_sync;
      if (lost) handle.file->unsynced.clear();
      return *code;
    }
    for (const auto& change : handle.file->unsynced) SimulatedDisk::apply(handle.file->synced, change);
    handle.file->unsynced.clear();
    if (std::exchange(handle.syncs_directory, false)) disk.synced_directory_ = disk.directory_;
    // On every file system that matters, a synced file has its directory entry.
    for (const auto& [name, file] : disk.directory_) {
      if (file == handle.file) disk.synced_directory_[name] = file;
    }
    return SQLITE_OK;
  }

  static int size(sqlite3_file* base, sqlite3_int64* size) {
    Handle& handle = handle_of(base);
    const Guard guard{handle.disk->mutex_};
    if (handle.dead()) return SQLITE_IOERR_FSTAT;
    *size = static_cast<sqlite3_int64>(handle.file->content.size());
    return SQLITE_OK;
  }

  static bool another_holds(const Handle& handle, int at_least) {
    return std::ranges::any_of(handle.file->handles, [&](const Handle* other) {
      return other != &handle && !other->dead() && other->lock >= at_least;
    });
  }

  static int lock(sqlite3_file* base, int level) {
    Handle& handle = handle_of(base);
    const Guard guard{handle.disk->mutex_};
    if (handle.dead()) return SQLITE_IOERR_LOCK;
    if (handle.lock >= level) return SQLITE_OK;
    if (level == SQLITE_LOCK_SHARED) {
      if (another_holds(handle, SQLITE_LOCK_PENDING)) return SQLITE_BUSY;
    } else {
      if (another_holds(handle, SQLITE_LOCK_RESERVED)) return SQLITE_BUSY;
      if (level == SQLITE_LOCK_EXCLUSIVE && another_holds(handle, SQLITE_LOCK_SHARED)) {
        handle.lock = SQLITE_LOCK_PENDING;
        return SQLITE_BUSY;
      }
    }
    handle.lock = level;
    return SQLITE_OK;
  }

  static int unlock(sqlite3_file* base, int level) {
    Handle& handle = handle_of(base);
    const Guard guard{handle.disk->mutex_};
    handle.lock = std::min(handle.lock, level);
    return SQLITE_OK;
  }

  static int check_reserved_lock(sqlite3_file* base, int* reserved) {
    Handle& handle = handle_of(base);
    const Guard guard{handle.disk->mutex_};
    *reserved = handle.lock >= SQLITE_LOCK_RESERVED || another_holds(handle, SQLITE_LOCK_RESERVED) ? 1 : 0;
    return SQLITE_OK;
  }

  static int file_control(sqlite3_file* base, int operation, void* argument) {
    if (operation != SQLITE_FCNTL_LAST_ERRNO) return SQLITE_NOTFOUND;
    *static_cast<int*>(argument) = handle_of(base).last_errno;
    return SQLITE_OK;
  }
  static int sector_size(sqlite3_file*) { return 4096; }
  // The properties that SQLite assumes of a Unix file, and no more.
  static int device_characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

  // -- shared memory of connections -------------------------------------------------------

  static int map_memory(sqlite3_file* base, int region, int size, int extend, void volatile** out) {
    Handle& handle = handle_of(base);
    const Guard guard{handle.disk->mutex_};
    if (handle.dead()) return SQLITE_IOERR_SHMMAP;
    if (!handle.memory) {
      auto& memory = handle.file->memory;
      if (!memory) memory = std::make_shared<SimulatedDisk::SharedMemory>();
      handle.memory = memory;
      ++memory->users;
    }
    auto& regions = handle.memory->regions;
    const auto index = static_cast<std::size_t>(region);
    if (index >= regions.size() && extend == 0) {
      *out = nullptr;
      return SQLITE_OK;
    }
    while (regions.size() <= index) {
      regions.push_back(std::make_unique<char[]>(static_cast<std::size_t>(size)));
    }
    *out = regions[index].get();
    return SQLITE_OK;
  }

  static int lock_memory(sqlite3_file* base, int offset, int count, int flags) {
    Handle& handle = handle_of(base);
    const Guard guard{handle.disk->mutex_};
    if (!handle.memory) return SQLITE_IOERR_SHMLOCK;
    SimulatedDisk::SharedMemory& memory = *handle.memory;
    const bool exclusive = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
    if ((flags & SQLITE_SHM_UNLOCK) != 0) {
      for (int i = offset; i < offset + count; ++i) release_lock(handle, i);
      return SQLITE_OK;
    }
    if (handle.dead()) return SQLITE_IOERR_SHMLOCK;
    for (int i = offset; i < offset + count; ++i) {
      const unsigned bit = 1u << static_cast<unsigned>(i);
      const bool mine_exclusive = (handle.exclusive_locks & bit) != 0;
      const int others_shared = memory.shared[i] - ((handle.shared_locks & bit) != 0 ? 1 : 0);
      if (memory.exclusive[i] && !mine_exclusive) return SQLITE_BUSY;
      if (exclusive && others_shared > 0) return SQLITE_BUSY;
    }
    for (int i = offset; i < offset + count; ++i) {
      const unsigned bit = 1u << static_cast<unsigned>(i);
      if (exclusive) {
        memory.exclusive[i] = true;
        handle.exclusive_locks |= bit;
      } else if ((handle.shared_locks & bit) == 0) {
        ++memory.shared[i];
        handle.shared_locks |= bit;
      }
    }
    return SQLITE_OK;
  }

  static void release_lock(Handle& handle, int lock) {
    const unsigned bit = 1u << static_cast<unsigned>(lock);
    if ((handle.exclusive_locks & bit) != 0) handle.memory->exclusive[lock] = false;
    if ((handle.shared_locks & bit) != 0) --handle.memory->shared[lock];
    handle.exclusive_locks &= ~bit;
    handle.shared_locks &= ~bit;
  }

  static void memory_barrier(sqlite3_file* base) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const Guard guard{handle_of(base).disk->mutex_};
  }

  static void leave_memory(Handle& handle) {
    if (!handle.memory) return;
    for (int i = 0; i < 8; ++i) release_lock(handle, i);
    // The last user removes it, as on Unix: the next user starts with empty memory.
    if (--handle.memory->users == 0 && handle.file->memory == handle.memory) handle.file->memory.reset();
    handle.memory.reset();
  }

  static int unmap_memory(sqlite3_file* base, int) {
    Handle& handle = handle_of(base);
    const Guard guard{handle.disk->mutex_};
    leave_memory(handle);
    return SQLITE_OK;
  }

  // -- the directory ---------------------------------------------------------------------------

  static constexpr sqlite3_io_methods of_files{2,
                                               close,
                                               read,
                                               write,
                                               truncate,
                                               sync,
                                               size,
                                               lock,
                                               unlock,
                                               check_reserved_lock,
                                               file_control,
                                               sector_size,
                                               device_characteristics,
                                               map_memory,
                                               lock_memory,
                                               memory_barrier,
                                               unmap_memory,
                                               nullptr,
                                               nullptr};

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* base, int flags, int* out_flags) {
    base->pMethods = nullptr;
    SimulatedDisk& disk = disk_of(vfs);
    const Guard guard{disk.mutex_};
    if (!disk.power_) return SQLITE_CANTOPEN;
    auto handle = std::make_unique<Handle>();
    if (name == nullptr) {
      handle->file = std::make_shared<File>();
    } else {
      const auto found = disk.directory_.find(name);
      const bool creates = found == disk.directory_.end();
      if (creates && (flags & SQLITE_OPEN_CREATE) == 0) {
        last_error = ENOENT;
        return SQLITE_CANTOPEN;
      }
      const auto code = disk.count(Operation::open, creates);
      if (code && disk.power_) return *code;
      if (creates) {
        disk.directory_[name] = std::make_shared<File>();
        constexpr int journals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL;
        handle->syncs_directory = (flags & journals) != 0;
      }
      if (code) return *code;
      handle->file = disk.directory_[name];
      if ((flags & SQLITE_OPEN_DELETEONCLOSE) != 0) handle->remove_when_closed = name;
    }
    handle->disk = &disk;
    handle->epoch = disk.epoch_;
    handle->file->handles.push_back(handle.get());
    auto* file = reinterpret_cast<OpenFile*>(base);
    file->handle = handle.release();
    file->base.pMethods = &of_files;
    if (out_flags != nullptr) *out_flags = flags;
    return SQLITE_OK;
  }

  static int remove(sqlite3_vfs* vfs, const char* name, int sync_directory) {
    SimulatedDisk& disk = disk_of(vfs);
    const Guard guard{disk.mutex_};
    if (!disk.power_) return SQLITE_IOERR_DELETE;
    if (!disk.directory_.contains(name)) return SQLITE_IOERR_DELETE_NOENT;
    const auto code = disk.count(Operation::remove, false);
    if (code && disk.power_) return *code;
    disk.directory_.erase(name);
    if (code) return *code;
    if (sync_directory != 0) disk.synced_directory_ = disk.directory_;
    return SQLITE_OK;
  }

  static int access(sqlite3_vfs* vfs, const char* name, int flags, int* answer) {
    SimulatedDisk& disk = disk_of(vfs);
    const Guard guard{disk.mutex_};
    if (!disk.power_) return SQLITE_IOERR_ACCESS;
    const auto found = disk.directory_.find(name);
    const bool there = found != disk.directory_.end();
    // An empty journal counts as none, as on Unix.
    *answer = there && (flags != SQLITE_ACCESS_EXISTS || !found->second->content.empty()) ? 1 : 0;
    return SQLITE_OK;
  }

  static int full_path(sqlite3_vfs*, const char* name, int size, char* out) {
    sqlite3_snprintf(size, out, "%s", name);
    return SQLITE_OK;
  }

  static int get_last_error(sqlite3_vfs*, int, char*) { return last_error; }
};

SimulatedDisk::SimulatedDisk() : vfs_(std::make_unique<sqlite3_vfs>()) {
  const sqlite3_vfs& real = *sqlite3_vfs_find(nullptr);
  // Time, randomness and sleep come from the machine.
  *vfs_ = real;
  vfs_->pNext = nullptr;
  vfs_->zName = "simulated-disk";
  vfs_->szOsFile = sizeof(OpenFile);
  vfs_->pAppData = this;
  vfs_->xOpen = Methods::open;
  vfs_->xDelete = Methods::remove;
  vfs_->xAccess = Methods::access;
  vfs_->xFullPathname = Methods::full_path;
  vfs_->xGetLastError = Methods::get_last_error;
  sqlite3_vfs_register(vfs_.get(), 1);
}

SimulatedDisk::~SimulatedDisk() { sqlite3_vfs_unregister(vfs_.get()); }

std::uint64_t SimulatedDisk::operations() const {
  const std::lock_guard guard{mutex_};
  return operations_;
}

std::set<std::uint64_t> SimulatedDisk::syncs() const {
  const std::lock_guard guard{mutex_};
  return syncs_;
}

void SimulatedDisk::fail_at(std::uint64_t nth, Fault fault, bool lasting) {
  const std::lock_guard guard{mutex_};
  fail_at_ = nth;
  fault_ = fault;
  lasting_ = lasting;
}

void SimulatedDisk::fail_reads(bool fail) {
  const std::lock_guard guard{mutex_};
  reads_fail_ = fail;
}

void SimulatedDisk::damage(const std::string& path, std::size_t from) {
  const std::lock_guard guard{mutex_};
  std::string& content = directory_.at(path)->content;
  for (std::size_t i = from; i < content.size(); ++i) content[i] = static_cast<char>(~content[i]);
}

void SimulatedDisk::repair() {
  const std::lock_guard guard{mutex_};
  fail_at_ = 0;
  lasting_ = false;
  reads_fail_ = false;
  failures_ = 0;
}

std::uint64_t SimulatedDisk::failures() const {
  const std::lock_guard guard{mutex_};
  return failures_;
}

void SimulatedDisk::during(std::uint64_t nth, std::function<void()> what) {
  const std::lock_guard guard{mutex_};
  during_[nth] = std::move(what);
}

void SimulatedDisk::cut_power_at(std::uint64_t nth) {
  const std::lock_guard guard{mutex_};
  power_cut_at_ = nth;
}

void SimulatedDisk::cut_power() {
  const std::lock_guard guard{mutex_};
  power_ = false;
}

bool SimulatedDisk::has_power() const {
  const std::lock_guard guard{mutex_};
  return power_;
}

bool SimulatedDisk::exists(const std::string& path) const {
  const std::lock_guard guard{mutex_};
  return directory_.contains(path);
}

void SimulatedDisk::apply(std::string& content, const Change& change) {
  if (change.truncates) {
    content.resize(change.at);
    return;
  }
  if (content.size() < change.at + change.bytes.size()) content.resize(change.at + change.bytes.size());
  content.replace(change.at, change.bytes.size(), change.bytes);
}

std::optional<int> SimulatedDisk::count(Operation operation, bool needs_space) {
  ++operations_;
  if (operation == Operation::sync) syncs_.insert(operations_);
  if (const auto found = during_.find(operations_); found != during_.end()) found->second();
  if (operations_ == power_cut_at_) {
    power_ = false;
    return SQLITE_IOERR;
  }
  if (fail_at_ == 0 || operations_ < fail_at_) return std::nullopt;
  if (fault_ == Fault::lost_sync) {
    if (operation != Operation::sync) return std::nullopt;
    fail_at_ = 0;
    ++failures_;
    return failing(operation);
  }
  if (operations_ > fail_at_ && !lasting_) return std::nullopt;
  // A full disk still does what takes no space.
  if (operations_ > fail_at_ && fault_ == Fault::full && !needs_space) return std::nullopt;
  ++failures_;
  return failing(operation);
}

int SimulatedDisk::failing(Operation operation) const {
  last_error = fault_ == Fault::full ? ENOSPC : EIO;
  switch (operation) {
    case Operation::open:
      return SQLITE_CANTOPEN;
    case Operation::write:
      return fault_ == Fault::full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    case Operation::sync:
      return SQLITE_IOERR_FSYNC;
    case Operation::truncate:
      return SQLITE_IOERR_TRUNCATE;
    case Operation::remove:
      return SQLITE_IOERR_DELETE;
  }
  return SQLITE_IOERR;
}

void SimulatedDisk::survive(File& file, std::mt19937_64& random, const Survival& survival) {
  std::bernoulli_distribution remains{survival.chance};
  for (const Change& change : file.unsynced) {
    if (change.truncates) {
      if (remains(random)) apply(file.synced, change);
      continue;
    }
    for (std::size_t done = 0; done < change.bytes.size();) {
      const std::size_t at = change.at + done;
      const std::size_t length = std::min(survival.sector - at % survival.sector, change.bytes.size() - done);
      if (remains(random)) apply(file.synced, {false, at, change.bytes.substr(done, length)});
      done += length;
    }
  }
  file.unsynced.clear();
  file.content = file.synced;
}

void SimulatedDisk::forget_processes() {
  ++epoch_;
  for (auto& [name, file] : directory_) file->memory.reset();
}

void SimulatedDisk::restore_power(std::mt19937_64& random, const Survival& survival) {
  const std::lock_guard guard{mutex_};
  std::bernoulli_distribution remains{survival.chance};
  // Entries added, removed or replaced since the last sync of the directory: each is old or new.
  Directory after = synced_directory_;
  Directory all = synced_directory_;
  all.insert(directory_.begin(), directory_.end());
  for (const auto& [name, ignored] : all) {
    if (!remains(random)) continue;
    if (const auto now = directory_.find(name); now != directory_.end()) {
      after[name] = now->second;
    } else {
      after.erase(name);
    }
  }
  directory_ = after;
  for (auto& [name, file] : directory_) survive(*file, random, survival);
  synced_directory_ = directory_;
  forget_processes();
  power_cut_at_ = 0;
  power_ = true;
}

void SimulatedDisk::kill_processes() {
  const std::lock_guard guard{mutex_};
  power_cut_at_ = 0;
  power_ = true;
  forget_processes();
}

}  // namespace duramen::sqlite::test
