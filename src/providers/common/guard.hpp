// The border of a store: inside it failures are exceptions, outside they are Errors.
#pragma once

#include "providers/common/out_of_memory.hpp"
#include "providers/common/store_error.hpp"

#include <exception>
#include <new>
#include <utility>

namespace duramen::inline v0::providers {

/// Runs `body`, which returns a Result, and lets no exception pass. `translate(exception, operation)` returns
/// the Error for an exception of the driver, or for any other.
template <class Translate, class Body>
auto guard(const char* operation, Translate&& translate, Body&& body) noexcept -> decltype(body()) {
  try {
    try {
      return std::forward<Body>(body)();
    } catch (const StoreError& thrown) {
      Error error = thrown.error();
      error.operation = operation;
      return error;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& thrown) {
      return translate(thrown, operation);
    }
  } catch (const std::bad_alloc&) {
    // Thrown by the body, or while an error was described.
    return out_of_memory(operation);
  }
}

}  // namespace duramen::inline v0::providers
