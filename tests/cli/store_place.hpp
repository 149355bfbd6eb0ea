// Where the store of a test is: a file, or a schema of the database server that all tests share.
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
/// For messages of googletest.
inline void PrintTo(StoreKind kind, std::ostream* out) { *out << name_of(kind); }

/// Those that this build has.
std::vector<StoreKind> store_kinds();

class StorePlace {
 public:
  virtual ~StorePlace() = default;
  /// For `--store`.
  [[nodiscard]] virtual std::string address() const = 0;
  /// For making the store, or looking at it beside the program.
  [[nodiscard]] virtual Store open() const = 0;
  /// SQL past the store, to plant what no store would do. Names of tables stand as they are.
  virtual void sql(const std::string& statements) = 0;
};

/// The address of a database at the server that `conninfo` of the shared server leads to.
std::string postgres_address(const std::string& conninfo, const std::string& database);

/// A place without an instance in it. Null where there is none of that kind, and `why_not` says why.
std::unique_ptr<StorePlace> make_place(StoreKind kind, const TempDir& directory, std::string& why_not);

}  // namespace duramen::test
