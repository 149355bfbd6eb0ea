// A failure that the store itself describes, not its driver.
#pragma once

#include <duramen/result.hpp>

#include <stdexcept>
#include <utility>

namespace duramen::inline v0::providers {

class StoreError : public std::runtime_error {
 public:
  explicit StoreError(Error error) : std::runtime_error(error.message), error_(std::move(error)) {}
  [[nodiscard]] const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

}  // namespace duramen::inline v0::providers
