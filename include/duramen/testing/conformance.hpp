// Is it a provider? One table of cases, each a promise of <duramen/provider.hpp>, for any implementation.
//
// A provider author says how to open a fresh store, and hands the table to a test framework of choice or to
// none:
//
//   const ProviderUnderTest mine =
//       with_manual_clock("mine", [](const Clock& clock) { return open_mine(clock); });
//   for (const ConformanceCase& which : conformance_cases()) {
//     for (const std::string& failure : run_conformance_case(which, mine)) report(which.name, failure);
//   }
//
// Cases are independent of each other, open their own store and do not sleep: they advance its clock.
// docs/guides/testing-a-provider.md has the rest.
#pragma once

#include <duramen/ids.hpp>
#include <duramen/provider.hpp>
#include <duramen/time.hpp>

#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace duramen::inline v0::testing {

/// A fresh, empty store, and its time. Lives for one case.
class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;
  /// The store itself.
  [[nodiscard]] virtual Provider& provider() = 0;
  /// Lets time pass for the store, wall time and lease time; in some cases more than a year. Nobody wants to
  /// wait that long: a store with a clock of its own needs a hook that shifts it.
  virtual void advance(Duration by) = 0;
  /// Sets the wall clock without letting time pass. False if that cannot be done here: what depends on it is
  /// skipped.
  virtual bool jump_wall(Duration by) = 0;
};

struct ProviderUnderTest {
  std::string name;  ///< an identifier, for reports
  /// Called for every case; several may be open at a time.
  std::function<std::unique_ptr<StoreUnderTest>()> open;
};

/// The usual case: a provider that takes a clock. `open` makes a fresh store at each call; `clock` outlives
/// it.
[[nodiscard]] ProviderUnderTest with_manual_clock(
    std::string name, std::function<std::shared_ptr<Provider>(const Clock& clock)> open);

/// Collects what was wrong, with the line that noticed.
class Check {
 public:
  using Where = std::source_location;

  /// Notes a failure, if there is one, and goes on; that() and equal() answer whether all is well.
  void fail(std::string_view message, Where where = Where::current());
  bool that(bool holds, std::string_view what, Where where = Where::current()) {
    if (!holds) fail(what, where);
    return holds;
  }
  template <class A, class B>
  bool equal(const A& actual, const B& expected, std::string_view what, Where where = Where::current()) {
    if (actual == expected) return true;
    fail(std::string(what) + ": " + print(actual) + ", expected " + print(expected), where);
    return false;
  }
  [[nodiscard]] const std::vector<std::string>& failures() const noexcept { return failures_; }

 private:
  template <class T>
  static std::string print(const T& value) {
    std::ostringstream out;
    if constexpr (std::is_enum_v<T>) {
      out << '#' << static_cast<long long>(value);
    } else if constexpr (requires { out << value; }) {
      out << value;
    } else if constexpr (requires { out << value.value; }) {
      out << value.value;
    } else if constexpr (requires { out << value.time_since_epoch().count(); }) {
      out << value.time_since_epoch().count() << " ms";
    } else {
      out << "another value";
    }
    return out.str();
  }

  std::vector<std::string> failures_;
};

struct ConformanceCase {
  std::string_view name;    ///< an identifier, unique in the table
  std::string_view checks;  ///< a sentence that is true when the case passes
  void (*run)(StoreUnderTest& store, Check& check);
};

/// All cases, in a fixed order.
[[nodiscard]] std::span<const ConformanceCase> conformance_cases();

/// Runs one case on a store of its own. Empty: passed.
[[nodiscard]] std::vector<std::string> run_conformance_case(const ConformanceCase& which,
                                                            const ProviderUnderTest& provider);

}  // namespace duramen::inline v0::testing
