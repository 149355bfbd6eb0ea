// The error of a provider that has run out of memory.
#pragma once

#include <duramen/detail/mutant.hpp>
#include <duramen/result.hpp>

#include <new>

namespace duramen::inline v0::providers {

/// Needs no memory itself; names `operation` if there is room for it.
[[nodiscard]] inline Error out_of_memory(const char* operation) noexcept {
  if (detail::mutant("out_of_memory_needs_memory"))
    return {ErrorCode::unavailable, operation, "out of memory", true};
  Error error{ErrorCode::unavailable, {}, "out of memory", true};
  try {
    error.operation = operation;
  } catch (const std::bad_alloc&) {
    // The error is clear without the name.
  }
  return error;
}

}  // namespace duramen::inline v0::providers
