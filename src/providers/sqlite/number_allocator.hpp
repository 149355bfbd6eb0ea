// Numbers that are never used twice: incarnations, and positions in the worker queue.
#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/statement.hpp"

#include <cstdint>

namespace duramen::inline v0::sqlite::detail {

/// Takes numbers from the file in blocks, so that a new instance costs no write for its number. The rest of a
/// block is never used after the store closes.
class NumberAllocator {
 public:
  explicit NumberAllocator(Connection& connection)
      : reserve_(connection,
                 "UPDATE duramen_counters SET value = value + ? WHERE name = 'next_number' RETURNING value") {
  }

  /// Call it inside a write transaction.
  std::uint64_t next() {
    if (next_ == end_) {
      Cursor run = reserve_.run(block);
      run.step();
      end_ = run.number(0);
      next_ = end_ - block;
      run.finish();
    }
    return next_++;
  }
  /// Call it after a rollback, which also undoes the taking of a block.
  void forget() noexcept { next_ = end_ = 0; }

 private:
  static constexpr std::uint64_t block = 4096;
  Statement reserve_;
  std::uint64_t next_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace duramen::inline v0::sqlite::detail
