// Numbers that are never used twice: incarnations, and positions in the worker queue.
#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/statement.hpp"

#include <cstdint>

namespace duramen::inline v0::sqlite::detail {

/// Takes numbers from the file in blocks, so that a new instance costs no write for its number. What is left
/// of a block when the store closes is never used.
class NumberAllocator {
 public:
  explicit NumberAllocator(Connection& connection)
      : reserve_(connection,
                 "UPDATE counters SET value = value + ? WHERE name = 'next_number' RETURNING value") {}

  /// Inside a write transaction.
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
  /// The transaction was rolled back, and with it a block that it may have taken.
  void forget() noexcept { next_ = end_ = 0; }

 private:
  static constexpr std::uint64_t block = 4096;
  Statement reserve_;
  std::uint64_t next_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace duramen::inline v0::sqlite::detail
