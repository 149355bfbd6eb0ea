#include "providers/conformance_gtest.hpp"
#include "support/postgres_cluster.hpp"
#include <duramen/postgres.hpp>

#include <memory>

namespace duramen::testing {
namespace {

std::shared_ptr<Provider> open(const Clock& clock) {
  struct Kept {
    explicit Kept(const std::string& conninfo) : schema(conninfo) {}
    test::PostgresSchema schema;
    std::shared_ptr<Provider> provider;
  };
  const auto kept = std::make_shared<Kept>(test::PostgresCluster::get()->conninfo());
  postgres::Options options = kept->schema.options();
  options.clock = &clock;
  kept->provider = postgres::open_provider(options).value();
  return {kept, kept->provider.get()};
}

class PostgresConformance final : public ::testing::Test {
 public:
  explicit PostgresConformance(const ConformanceCase& which) : which_(which) {}

  void TestBody() override {
    DURAMEN_NEEDS_POSTGRES();
    static const ProviderUnderTest provider = with_manual_clock("postgres", open);
    for (const std::string& failure : run_conformance_case(which_, provider)) {
      ADD_FAILURE() << failure;
    }
  }

 private:
  const ConformanceCase& which_;
};

const bool registered = [] {
  for (const ConformanceCase& which : conformance_cases()) {
    ::testing::RegisterTest("Conformance_postgres", std::string(which.name).c_str(), nullptr, nullptr,
                            __FILE__, __LINE__,
                            [&which]() -> ::testing::Test* { return new PostgresConformance(which); });
  }
  return true;
}();

}  // namespace
}  // namespace duramen::testing
