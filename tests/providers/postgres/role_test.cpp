// The role that a node needs: it uses the tables and cannot change them.
#include "providers/postgres/error.hpp"
#include "store.hpp"

#include <unistd.h>

namespace duramen::test {
namespace {

namespace detail = postgres::detail;

class PostgresRole : public OnPostgres {
 protected:
  void SetUp() override {
    OnPostgres::SetUp();
    if (IsSkipped()) return;
    role = "duramen_app_" + std::to_string(::getpid());
    const std::string s = quoted_schema();
    // Revokes the default rights, as strict databases do.
    schema->connection().script("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA " + s + " FROM PUBLIC");
    // The commands of docs/guides/postgres.md.
    schema->connection().script("CREATE ROLE " + role + " LOGIN;" + "GRANT USAGE ON SCHEMA " + s + " TO " +
                                role + ";" + "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " +
                                s + " TO " + role + ";" + "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA " +
                                s + " TO " + role + ";" + "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA " + s +
                                " TO " + role + ";");
  }
  void TearDown() override {
    if (role.empty()) return;
    schema->connection().script("DROP OWNED BY " + role + "; DROP ROLE " + role +
                                "; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA " + quoted_schema() +
                                " TO PUBLIC");
  }
  [[nodiscard]] postgres::Options as_role() const {
    postgres::Options options = schema->options();
    options.conninfo += " user=" + role;
    options.migrate = false;
    return options;
  }
  std::string role;
};

TEST_F(PostgresRole, ANodeWithFewRightsDoesEverythingItHasTo) {
  const auto store = open(as_role());
  TurnCommit commit = fused_turn("a", 1);
  commit.new_activities.push_back(activity_of("a", {}, 2));
  commit.messages.push_back({"child", message::StartOrchestration{.orchestration = "Orch"}});
  commit.change.key_values.push_back({.key = "k", .value = Payload::text("v")});
  ASSERT_EQ(store->commit_turns({&commit, 1}).value().at(0).outcome, CommitOutcome::committed);
  const OutboundMessage parked{"nobody", message::ExternalRaised{"x", {}}, {}, "id"};
  EXPECT_EQ(store->enqueue_messages({&parked, 1}).value().at(0), EnqueueOutcome::parked);
  const auto turns = store->fetch_turns({.node = "n", .lease = 10s}).value();
  EXPECT_EQ(turns.items.size(), 1u);
  const auto work =
      store->fetch_activities({.node = "n", .lease = 10s, .sessions = SessionClaim{"n", 10s}}).value();
  ASSERT_EQ(work.items.size(), 1u);
  const ActivityRenewal renewal{work.items[0].lease};
  EXPECT_EQ(store->renew_activities({&renewal, 1}, 10s).value().at(0).outcome, RenewOutcome::renewed);
  const ActivityAck ack{work.items[0].lease, "a", Payload::text("done")};
  EXPECT_EQ(store->ack_activities({&ack, 1}).value().at(0).outcome, AckOutcome::done);
  EXPECT_TRUE(store->sweep(10));
  EXPECT_TRUE(store->get_queue_depths());
  EXPECT_TRUE(store->get_metrics());
  const InstanceId id = "a";
  EXPECT_EQ(store->delete_instances({&id, 1}, DeleteMode::force).value().at(0).outcome,
            DeleteOutcome::deleted);
}

TEST_F(PostgresRole, ItCannotChangeTheSchema) {
  postgres::Options options = as_role();
  detail::Connection connection{detail::ConnInfo{options.conninfo}, 30s, false, nullptr};
  EXPECT_THROW(connection.run("DROP TABLE " + quoted_schema() + ".history"), detail::SqlError);
  EXPECT_THROW(connection.run("CREATE TABLE " + quoted_schema() + ".mine (x int)"), detail::SqlError);
}

TEST_F(PostgresRole, TheErrorNamesTheRightsThatARoleLacks) {
  schema->connection().script("REVOKE ALL ON ALL TABLES IN SCHEMA " + quoted_schema() + " FROM " + role);
  const auto opened = postgres::open_provider(as_role());
  ASSERT_FALSE(opened);
  EXPECT_FALSE(opened.error().retryable);
  EXPECT_NE(opened.error().message.find("grant"), std::string::npos) << opened.error().message;
}

}  // namespace
}  // namespace duramen::test
