// The place of a test's store: a file, or a schema of the shared database server.
#pragma once

#include "support/temp_dir.hpp"
#include <duramen/store.hpp>

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace duramen::test {

enum class StoreKind : std::uint8_t { sqlite, postgres };
std::string name_of(StoreKind kind);
/// Its name in messages of googletest.
inline void PrintTo(StoreKind kind, std::ostream* out) { *out << name_of(kind); }

/// The kinds of store in this build.
std::vector<StoreKind> store_kinds();

class StorePlace {
 public:
  virtual ~StorePlace() = default;
  /// The argument of `--store`.
  [[nodiscard]] virtual std::string address() const = 0;
  /// Creates or reads the store without the program.
  [[nodiscard]] virtual Store open() const = 0;
  /// Runs SQL without the store, to plant rows that no store would write. "@instances" is the table of
  /// instances.
  virtual void sql(const std::string& statements) = 0;
};

/// The address of a database on the shared server.
std::string postgres_address(const std::string& conninfo, const std::string& database);

/// A place without instances. Null if that kind is not available; `why_not` is the reason.
std::unique_ptr<StorePlace> make_place(StoreKind kind, const TempDir& directory, std::string& why_not);

}  // namespace duramen::test
