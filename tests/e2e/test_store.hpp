// The store that end-to-end tests run on: SQLite, or PostgreSQL if the environment says
// DURAMEN_TEST_STORE=postgres.
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

/// A fresh store whose clock the test moves; what it needs lives as long as it does.
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

/// Ends the program at once where its store cannot be had: nothing in it would be a test of anything.
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
