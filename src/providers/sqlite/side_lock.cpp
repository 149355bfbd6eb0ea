#include "providers/sqlite/side_lock.hpp"

#include "providers/sqlite/error.hpp"

#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace duramen::inline v0::sqlite::detail {

namespace {

constexpr off_t writer_byte = 0;
constexpr off_t presence_byte = 1;
constexpr off_t turnstile_byte = 2;

struct flock one_byte(short type, off_t byte) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

/// Returns true if it had to wait.
bool wait_for(int file, short type, off_t byte) {
  struct flock lock = one_byte(type, byte);
  if (fcntl(file, F_OFD_SETLK, &lock) == 0) return false;
  while (fcntl(file, F_OFD_SETLKW, &lock) != 0) {
    if (errno == EINTR) continue;
    const std::string why = std::generic_category().message(errno);
    throw StoreError({ErrorCode::unavailable, "", "cannot lock the store's side file: " + why, true});
  }
  return true;
}

void release(int file, off_t byte) noexcept {
  struct flock lock = one_byte(F_UNLCK, byte);
  fcntl(file, F_OFD_SETLK, &lock);
}

}  // namespace

SideLock::SideLock(const std::string& path) {
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) {
    const FileProblem problem = file_problem(errno);
    throw StoreError(
        {ErrorCode::unavailable, "", "cannot create " + path + ": " + problem.text, problem.retryable});
  }
  try {
    (void)wait_for(file_, F_RDLCK, presence_byte);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

SideLock::~SideLock() { ::close(file_); }

void SideLock::lock() {
  const bool at_turnstile = wait_for(file_, F_WRLCK, turnstile_byte);
  try {
    const bool for_writer = wait_for(file_, F_WRLCK, writer_byte);
    waited_for_ = at_turnstile || for_writer;
  } catch (...) {
    release(file_, turnstile_byte);
    throw;
  }
  release(file_, turnstile_byte);
}

void SideLock::unlock() noexcept { release(file_, writer_byte); }

bool SideLock::alone() const noexcept {
  // Asks for a lock that conflicts with an exclusive one; our own shared lock does not.
  struct flock lock = one_byte(F_WRLCK, presence_byte);
  if (fcntl(file_, F_OFD_GETLK, &lock) != 0) return false;
  return lock.l_type == F_UNLCK;
}

}  // namespace duramen::inline v0::sqlite::detail
