// The conformance suite: one table of cases, each a promise of <duramen/provider.hpp>, for any provider.
//
// A provider author writes a function that opens a fresh store, and runs the table with or without a test
// framework:
//
//   const ProviderUnderTest mine =
//       with_manual_clock("mine", [](const Clock& clock) { return open_mine(clock); });
//   for (const ConformanceCase& which : conformance_cases()) {
//     for (const std::string& failure : run_conformance_case(which, mine)) report(which.name, failure);
//   }
//
// Cases are independent of each other, open their own store and do not sleep: they advance its clock.
// See docs/guides/testing-a-provider.md.
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
  /// Lets wall time and lease time pass for the store, in some cases more than a year. A store with its own
  /// clock needs a hook that shifts it.
  virtual void advance(Duration by) = 0;
  /// Shifts the wall clock; lease time does not pass. False if the store cannot do that: the case then skips
  /// the checks that depend on it.
  virtual bool jump_wall(Duration by) = 0;
};

struct ProviderUnderTest {
  std::string name;  ///< an identifier, for reports
  /// Called once per case. Several stores may be open at the same time.
  std::function<std::unique_ptr<StoreUnderTest>()> open;
};

/// For a provider that takes a clock. `open` makes a fresh store at each call; `clock` outlives it.
[[nodiscard]] ProviderUnderTest with_manual_clock(
    std::string name, std::function<std::shared_ptr<Provider>(const Clock& clock)> open);

/// Collects the failures of a case, each with its source line.
class Check {
 public:
  using Where = std::source_location;

  /// These note a failure and continue. that() and equal() return true if the check passed.
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
  /// A sentence that is true when the case passes, as an identifier. Unique in the table.
  std::string_view name;
  void (*run)(StoreUnderTest& store, Check& check);
  /// The same case in the reference suite (docs/conformance.md); empty if it has none.
  std::string_view reference{};
  /// How this case differs from `reference`; empty if it does not.
  std::string_view difference{};
  /// The group of the case, as an identifier.
  std::string_view chapter{};
};

/// All cases, in a fixed order, chapter by chapter.
[[nodiscard]] std::span<const ConformanceCase> conformance_cases();

/// A case of the reference suite that this suite omits.
struct OmittedReferenceCase {
  std::string_view reference;
  std::string_view why;
};

/// Together with the references of conformance_cases(), the whole reference suite.
[[nodiscard]] std::span<const OmittedReferenceCase> omitted_reference_cases();

/// Runs one case on its own store and returns the failures; empty if the case passed.
[[nodiscard]] std::vector<std::string> run_conformance_case(const ConformanceCase& which,
                                                            const ProviderUnderTest& provider);

}  // namespace duramen::inline v0::testing
