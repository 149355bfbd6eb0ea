// The store of end-to-end tests: SQLite, or PostgreSQL with DURAMEN_TEST_STORE=postgres in the environment.
#pragma once

#include "support/temp_dir.hpp"
#include <duramen/provider.hpp>
#include <duramen/sqlite.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string_view>
#ifdef DURAMEN_WITH_POSTGRES
#include "support/postgres_cluster.hpp"
#endif

namespace duramen::test {

[[nodiscard]] inline bool wants_postgres() {
  const char* const store = std::getenv("DURAMEN_TEST_STORE");
  return store != nullptr && std::string_view(store) == "postgres";
}

/// A fresh store with the clock of the test.
[[nodiscard]] inline std::shared_ptr<Provider> open_test_store(const TempDir& dir, const Clock& clock) {
#ifdef DURAMEN_WITH_POSTGRES
  if (wants_postgres()) {
    struct Kept {
      PostgresSchema schema{PostgresCluster::get()->conninfo()};
      std::shared_ptr<Provider> provider;
    };
    const auto kept = std::make_shared<Kept>();
    postgres::Options options = kept->schema.options();
    options.clock = &clock;
    kept->provider = postgres::open_provider(options).value();
    return {kept, kept->provider.get()};
  }
#endif
  return sqlite::open_provider({.path = dir.file("e2e.db"), .clock = &clock}).value();
}

/// Skips the whole program if its store is not available.
class NeedsItsStore final : public ::testing::Environment {
 public:
  void SetUp() override {
#ifdef DURAMEN_WITH_POSTGRES
    if (wants_postgres() && PostgresCluster::get() == nullptr) {
      GTEST_SKIP() << "no PostgreSQL here: " << PostgresCluster::why_not();
    }
#else
    if (wants_postgres()) GTEST_SKIP() << "built without PostgreSQL";
#endif
  }
};

}  // namespace duramen::test
