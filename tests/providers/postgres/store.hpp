// A store on the shared server, and short forms of what its tests often need.
#pragma once

#include "support/postgres_cluster.hpp"
#include <duramen/postgres.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace duramen::test {

using namespace std::chrono_literals;

/// Skipped without PostgreSQL.
class OnPostgres : public ::testing::Test {
 protected:
  void SetUp() override {
    DURAMEN_NEEDS_POSTGRES();
    schema = std::make_unique<PostgresSchema>(PostgresCluster::get()->conninfo());
  }
  [[nodiscard]] std::shared_ptr<Provider> open() { return open(schema->options()); }
  [[nodiscard]] static std::shared_ptr<Provider> open(const postgres::Options& options) {
    return postgres::open_provider(options).value();
  }
  [[nodiscard]] std::string quoted_schema() const { return '"' + schema->name() + '"'; }

  std::unique_ptr<PostgresSchema> schema;
};

[[nodiscard]] inline StartRequest start_of(const std::string& id) {
  return {.instance = id, .start = {.orchestration = "Orch", .input = Payload::text("in")}};
}

inline void start(Provider& store, const std::string& id) {
  const StartRequest request = start_of(id);
  ASSERT_EQ(store.start_instances({&request, 1}).value().at(0), StartOutcome::created);
}

/// The first turn of an instance, under the lease of a fetch.
[[nodiscard]] inline TurnCommit first_turn(const LeasedInstance& item, std::uint64_t token) {
  TurnCommit commit;
  commit.token = CommitToken{token};
  commit.node = "node";
  commit.instance = item.instance;
  commit.incarnation = item.incarnation;
  commit.basis = HeldLease::all_of(item);
  commit.execution = item.execution;
  commit.events.push_back(
      {.id = EventId{1}, .body = event::OrchestrationStarted{.name = "Orch", .version = "1"}});
  commit.change.version = "1";
  return commit;
}

/// The first turn of an instance that it creates.
[[nodiscard]] inline TurnCommit fused_turn(const std::string& id, std::uint64_t token) {
  TurnCommit commit;
  commit.token = CommitToken{token};
  commit.node = "node";
  commit.instance = id;
  commit.basis = FusedStart{start_of(id)};
  commit.execution = ExecutionId{1};
  commit.events.push_back(
      {.id = EventId{1}, .body = event::OrchestrationStarted{.name = "Orch", .version = "1"}});
  commit.change.version = "1";
  return commit;
}

[[nodiscard]] inline NewActivity activity_of(const InstanceId& instance, Incarnation incarnation,
                                             std::uint64_t id) {
  NewActivity item;
  item.request.instance = instance;
  item.request.key = {incarnation, ExecutionId{1}, EventId{id}};
  item.request.name = "Act";
  item.request.orchestration_name = "Orch";
  item.request.orchestration_version = "1";
  return item;
}

}  // namespace duramen::test
