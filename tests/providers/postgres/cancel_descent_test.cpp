// A cancel that goes down a tree on PostgreSQL: it never waits for a lock, and it looks at a bounded number
// of rows.
#include "providers/postgres/connection.hpp"
#include "providers/postgres/conninfo.hpp"
#include "store.hpp"

#include <string>
#include <vector>

namespace duramen::test {
namespace {

class PostgresTrees : public OnPostgres {
 protected:
  void SetUp() override {
    OnPostgres::SetUp();
    if (IsSkipped()) return;
    store = open();
    start(*store, "root");
  }
  /// Starts an instance as the child of another one.
  void start_child(const std::string& parent, const std::string& id) {
    StartRequest request = start_of(id);
    request.start.parent = link_to(parent);
    ASSERT_EQ(store->start_instances({&request, 1}).value().at(0), StartOutcome::created);
  }
  EnqueueOutcome cancel(const std::string& parent, const std::string& id) {
    const OutboundMessage message{
        id, message::CancelInstance{
                .reason = "enough", .origin = CancelOrigin::parent, .parent = link_to(parent)}};
    return store->enqueue_messages({&message, 1}).value().at(0);
  }
  [[nodiscard]] bool is_asked(const std::string& id) {
    return store->get_instance(id).value().value().cancel_asked.has_value();
  }
  [[nodiscard]] ParentLink link_to(const std::string& parent) {
    return {parent, store->get_instance(parent).value().value().incarnation, ExecutionId{1}, EventId{2}};
  }
  std::shared_ptr<Provider> store;
};

TEST_F(PostgresTrees, ACancelPassesOverAnInstanceThatAnotherSessionHolds) {
  start_child("root", "a");
  start_child("a", "held");
  start_child("held", "below");
  start_child("a", "free");
  postgres::detail::Connection holder{postgres::detail::ConnInfo{schema->conninfo()}, 30s, false, nullptr};
  holder.script("BEGIN; SELECT 1 FROM " + quoted_schema() +
                ".instances WHERE instance_id = 'held' FOR UPDATE");
  EXPECT_EQ(cancel("root", "a"), EnqueueOutcome::enqueued);
  EXPECT_TRUE(is_asked("a"));
  EXPECT_TRUE(is_asked("free"));
  EXPECT_FALSE(is_asked("held"));
  EXPECT_FALSE(is_asked("below"));
  holder.script("ROLLBACK");
  // The turn of "a" sends its own.
  EXPECT_EQ(cancel("a", "held"), EnqueueOutcome::enqueued);
  EXPECT_TRUE(is_asked("held"));
  EXPECT_TRUE(is_asked("below"));
}

TEST_F(PostgresTrees, ACancelFindsTheYoungestOfManyChildren) {
  start_child("root", "a");
  const std::string parent = std::to_string(link_to("a").incarnation.value);
  schema->connection().script(
      "INSERT INTO " + quoted_schema() +
      ".instances (key, instance_id, name, status, created_at, updated_at, execution_started_at, "
      "start_digest, "
      "parent_instance, parent_key, parent_execution, parent_event) "
      "SELECT -n, 'ended ' || n, 'Orch', 'Completed', 0, 0, 0, 0, 'a', " +
      parent + ", 1, 2 FROM generate_series(1, 5000) n");
  start_child("a", "young");
  EXPECT_EQ(cancel("root", "a"), EnqueueOutcome::enqueued);
  EXPECT_TRUE(is_asked("young"));
}

}  // namespace
}  // namespace duramen::test
