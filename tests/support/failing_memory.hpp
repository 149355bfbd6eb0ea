// Lets allocations of the calling thread fail. Replaces operator new of the whole program: only one file of a
// separate test executable may include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace duramen::test {

/// While it lives, allocations of this thread fail: the one with the number `first`, counted from 0, and if
/// `all_after` is set every later one.
class FailingMemory {
 public:
  explicit FailingMemory(std::int64_t first, bool all_after = false) {
    left_ = first;
    all_after_ = all_after;
    on_ = true;
  }
  ~FailingMemory() { on_ = false; }
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;

  [[nodiscard]] static bool has_failed() { return left_ < 0; }

  static void* allocate(std::size_t size) {
    if (on_ && left_-- <= 0 && (left_ == -1 || all_after_)) throw std::bad_alloc();
    if (void* const memory = std::malloc(size > 0 ? size : 1)) return memory;
    throw std::bad_alloc();
  }

 private:
  static inline thread_local bool on_ = false;
  static inline thread_local bool all_after_ = false;
  static inline thread_local std::int64_t left_ = 0;
};

}  // namespace duramen::test

void* operator new(std::size_t size) { return duramen::test::FailingMemory::allocate(size); }
void* operator new[](std::size_t size) { return duramen::test::FailingMemory::allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
