// Two builds on one store: this engine version, and a made-up version 2 with one more kind of event. Rolled
// forward and back, nothing is lost and no build reads what it cannot read.
#include "support/child_process.hpp"
#include "support/signal.hpp"
#include "support/temp_dir.hpp"
#include "support/until.hpp"
#include <duramen/client.hpp>
#include <duramen/sqlite.hpp>
#ifdef DURAMEN_LEVELS_POSTGRES
#include "support/postgres_cluster.hpp"
#include <duramen/postgres.hpp>
#endif

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <unistd.h>

namespace duramen::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// On a SQLite file, and in a schema of its own on a server.
class Levels : public ::testing::TestWithParam<const char*> {
 protected:
#ifdef DURAMEN_LEVELS_POSTGRES
  void SetUp() override {
    if (GetParam() != std::string("postgres")) return;
    DURAMEN_NEEDS_POSTGRES();
    options.conninfo = PostgresCluster::get()->conninfo();
    options.schema = "levels_" + std::to_string(::getpid());
    path = options.schema + " " + options.conninfo;
    drop();
  }
  void TearDown() override {
    if (options.schema.starts_with("levels_")) drop();
  }
  void drop() {
    postgres::detail::Connection connection{postgres::detail::ConnInfo{options.conninfo}, 30s, false,
                                            nullptr};
    connection.script("SET client_min_messages TO warning; DROP SCHEMA IF EXISTS " + options.schema +
                      " CASCADE");
  }
  postgres::Options options;
#endif
  /// A worker that is ready.
  std::unique_ptr<ChildProcess> worker(const char* program, const std::string& node,
                                       const std::string& word = "") {
    auto process = std::make_unique<ChildProcess>(std::vector<std::string>{path, node, word}, program);
    warned = false;
    std::string line = process->read_line();
    for (; line == "warned"; line = process->read_line()) warned = true;
    EXPECT_EQ(line, "ready");
    return process;
  }
  std::unique_ptr<ChildProcess> old_worker(const std::string& node) {
    return worker(DURAMEN_OLD_WORKER, node);
  }
  std::unique_ptr<ChildProcess> new_worker(const std::string& node, const std::string& word = "") {
    return worker(DURAMEN_NEW_WORKER, node, word);
  }
  static void stop(std::unique_ptr<ChildProcess>& process) {
    process->signal(SIGTERM);
    EXPECT_EQ(process->wait(), 0);
    process.reset();
  }
  /// The instance has begun: it waits for "go".
  void begin(const InstanceId& instance) {
    client->start(instance, "marks").value();
    until([&] { return client->get_instance(instance).value().status == Status::running; });
  }
  std::string go(const InstanceId& instance) {
    client->raise_event(instance, "go", 1).value();
    return client->wait(instance, forever).value().output_as<std::string>();
  }
  /// Waits for the reports of as many nodes.
  void until_listed(std::size_t nodes) {
    until([&] { return provider().list_nodes().value().size() == nodes; });
  }
  WriteLevelRaise raise_to(std::uint32_t level) {
    return provider().raise_write_level(level, node_live_within).value();
  }
  Provider& provider() { return *store->provider(); }
  void open() {
#ifdef DURAMEN_LEVELS_POSTGRES
    if (GetParam() == std::string("postgres")) {
      store.emplace(postgres::open(options));
      client.emplace(*store);
      return;
    }
#endif
    store.emplace(sqlite::open(path));
    client.emplace(*store);
  }

  TempDir dir;
  std::string path = dir.file("store.db");
  std::optional<Store> store;
  std::optional<Client> client;
  bool warned = false;
};

#ifdef DURAMEN_LEVELS_POSTGRES
INSTANTIATE_TEST_SUITE_P(Store, Levels, ::testing::Values("sqlite", "postgres"),
                         [](const auto& info) { return std::string(info.param); });
#else
INSTANTIATE_TEST_SUITE_P(Store, Levels, ::testing::Values("sqlite"),
                         [](const auto& info) { return std::string(info.param); });
#endif

TEST_P(Levels, AnUpgradeThatIsNotFinishedCanBeRolledBack) {
  open();
  auto node = old_worker("old");
  begin("of-old");
  begin("of-old-for-new");
  stop(node);
  // Forward: the newer build continues what the older one began, and begins what the older one can read.
  node = new_worker("new");
  EXPECT_TRUE(warned) << "the write level is below the newest";
  EXPECT_THAT(go("of-old-for-new"), HasSubstr("refused: TestMark needs engine version 2"));
  // A later turn of the newer build leaves the level as it was.
  client->raise_event("of-old", "something else", 1).value();
  until([&] { return client->get_instance("of-old").value().last_event_id == EventId{3}; });
  begin("of-new");
  begin("of-new-for-new");
  EXPECT_THAT(go("of-new-for-new"), HasSubstr("duramen upgrade --finish"));
  stop(node);
  // Back.
  node = old_worker("old again");
  EXPECT_EQ(go("of-old"), "not marked");
  EXPECT_EQ(go("of-new"), "not marked");
}

TEST_P(Levels, ANodeThatReadsLessHoldsTheEndOfAnUpgradeBackUntilItStops) {
  open();
  auto old_node = old_worker("old");
  auto new_node = new_worker("new");
  until_listed(2);
  const WriteLevelRaise refused = raise_to(2);
  EXPECT_EQ(refused.level, 1u);
  EXPECT_THAT(refused.held_back_by, ElementsAre(NodeId("old")));
  stop(old_node);
  EXPECT_EQ(raise_to(2).level, 2u);
  EXPECT_EQ(raise_to(1).level, 2u) << "it never falls";
}

TEST_P(Levels, AfterTheUpgradeAnOlderNodeTakesOnlyWhatItReads) {
  open();
  auto node = old_worker("old");
  begin("old-execution");
  stop(node);
  raise_to(2);
  node = new_worker("new");
  EXPECT_FALSE(warned);
  begin("new-execution");
  begin("marked");
  EXPECT_EQ(go("marked"), "marked");
  EXPECT_THAT(go("old-execution"), HasSubstr("began at 1: an execution that begins now may use it"));
  stop(node);

  client->raise_event("new-execution", "go", 1).value();
  node = old_worker("late");
  begin("of-late");
  EXPECT_EQ(go("of-late"), "not marked") << "it begins at what it reads";
  EXPECT_EQ(provider().get_instance("new-execution").value()->last_event_id, EventId{2}) << "left alone";
  EXPECT_FALSE(provider().list_pending_work("new-execution").value().leased);
  stop(node);
  node = new_worker("new again");
  EXPECT_EQ(client->wait("new-execution", forever).value().output_as<std::string>(), "marked");
}

TEST_P(Levels, AStoreThatTheNewerBuildMadeBeginsAtItsLevel) {
  auto node = new_worker("new");
  open();
  EXPECT_FALSE(warned);
  EXPECT_EQ(provider().get_write_level().value(), 2u);
  begin("i");
  EXPECT_EQ(go("i"), "marked");
}

TEST_P(Levels, AProgramThatIsAloneWithItsStoreRaisesTheLevelWhenItStarts) {
  open();
  auto node = new_worker("new", "raise");
  EXPECT_FALSE(warned);
  EXPECT_EQ(provider().get_write_level().value(), 2u);
  begin("i");
  EXPECT_EQ(go("i"), "marked");
}

TEST_P(Levels, AProgramThatIsNotAloneDoesNotRaiseTheLevel) {
  open();
  auto old_node = old_worker("old");
  until_listed(1);
  auto node = new_worker("new", "raise");
  EXPECT_TRUE(warned);
  EXPECT_EQ(provider().get_write_level().value(), 1u);
}

}  // namespace
}  // namespace duramen::test
