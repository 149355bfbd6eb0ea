// A mutant: a provider that is wrong in one respect, and the case that must catch it.
//
// Each is the memory provider behind a wrapper that changes requests or answers, or changes the tables before
// or after a call. A real provider could be wrong in the same way by accident.
#pragma once

#include "testing/memory/tables.hpp"
#include <duramen/testing/forwarding_provider.hpp>
#include <duramen/testing/memory_provider.hpp>

#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace duramen::testing {

struct Mutant {
  std::string_view name;       ///< an identifier, unique among all
  std::string_view wrong;      ///< what it does, as a sentence
  std::string_view caught_by;  ///< the case of the suite that must fail
  std::shared_ptr<Provider> (*make)(std::shared_ptr<MemoryProvider> right);
};

/// The base of all mutants: a correct provider, and access to its tables.
class WrongProvider : public ForwardingProvider {
 public:
  explicit WrongProvider(std::shared_ptr<MemoryProvider> right) : ForwardingProvider(right), right_(*right) {}

 protected:
  template <class Change>
  void tables(Change change) {
    with_tables(right_, change);
  }
  [[nodiscard]] LeaseTime lease_now() const { return clock().lease_now(); }
  /// Later than any case checks.
  [[nodiscard]] LeaseTime far_away() const { return lease_now() + std::chrono::hours{24}; }

 private:
  MemoryProvider& right_;
};

template <class T>
std::shared_ptr<Provider> make_mutant(std::shared_ptr<MemoryProvider> right) {
  return std::make_shared<T>(std::move(right));
}

/// A copy that may be changed.
template <class T>
std::vector<T> copy_of(std::span<const T> entries) {
  return {entries.begin(), entries.end()};
}

// -- by subject ---
std::span<const Mutant> activity_mutants();
std::span<const Mutant> cancel_descent_mutants();
std::span<const Mutant> cancellation_mutants();
std::span<const Mutant> turn_mutants();
std::span<const Mutant> fetch_mutants();
std::span<const Mutant> message_mutants();
std::span<const Mutant> queue_mutants();
std::span<const Mutant> session_mutants();
std::span<const Mutant> overdue_mutants();
std::span<const Mutant> management_mutants();

}  // namespace duramen::testing
