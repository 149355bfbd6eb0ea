// New code and new schemas, while real nodes go on working.
#include "e2e/exactly_once.hpp"
#include "e2e/worker_program.hpp"
#include "providers/postgres/error.hpp"
#include "providers/postgres/identifier.hpp"
#include "providers/postgres/schema.hpp"
#include "support/child_process.hpp"
#include "support/postgres_cluster.hpp"
#include "support/signal.hpp"
#include "support/until.hpp"
#include <duramen/client.hpp>
#include <duramen/postgres.hpp>
#include <duramen/runtime.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <signal.h>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

namespace duramen::test {
namespace {

using namespace std::chrono_literals;
namespace detail = postgres::detail;

Registry registry_of(const std::vector<std::string>& versions) {
  Registry registry;
  for (const std::string& version : versions) add_version(registry, version);
  registry.add("Add", [](ActivityContext&, int value) { return value + 1; });
  registry.add("count_to", [](OrchestrationContext& ctx, int target) -> Task<int> {
    int value = 0;
    while (value < target) value = co_await ctx.schedule_activity<int>("Add", value);
    co_return value;
  });
  return registry;
}

/// Runs until SIGTERM or a kill. Arguments: the connection, the schema, the versions.
int run_worker(const std::vector<std::string>& arguments) {
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  postgres::Options options;
  options.conninfo = arguments.at(0);
  options.schema = arguments.at(1);
  RuntimeOptions runtime_options = worker_options(2s, 300ms);
  runtime_options.log = [](const LogRecord&) {};
  const std::vector<std::string> versions(arguments.begin() + 2, arguments.end());
  Runtime runtime{postgres::open(options), registry_of(versions), runtime_options};
  report("ready");
  int number = 0;
  ::sigwait(&stop, &number);
  runtime.shutdown();
  report("stopped");
  return 0;
}

class Upgrades : public ::testing::Test {
 protected:
  void SetUp() override {
    DURAMEN_NEEDS_POSTGRES();
    schema = std::make_unique<PostgresSchema>(PostgresCluster::get()->conninfo());
  }
  [[nodiscard]] std::unique_ptr<ChildProcess> worker(const std::string& in,
                                                     const std::vector<std::string>& versions) {
    std::vector<std::string> arguments{"--worker", schema->conninfo(), in};
    arguments.insert(arguments.end(), versions.begin(), versions.end());
    auto process = std::make_unique<ChildProcess>(arguments);
    EXPECT_EQ(process->read_line(), "ready");
    return process;
  }
  std::unique_ptr<PostgresSchema> schema;
};

TEST_F(Upgrades, ARollingDeploymentLosesNothingAndMixesNothing) {
  constexpr int each = 10;
  const Store store = postgres::open(schema->options());
  Client client{store};
  const auto id = [](const char* when, int i) { return InstanceId(std::string(when) + std::to_string(i)); };
  const auto start = [&](const char* when) {
    for (int i = 0; i < each; ++i) client.start(id(when, i), "deploy", i).value();
  };
  const auto waiting = [&](const char* when) {
    for (int i = 0; i < each; ++i) {
      until([&] {
        const auto history = client.read_history(id(when, i));
        return history && !history->empty() && event_type(history->back()) == "ExternalSubscribed";
      });
    }
  };
  auto old_one = worker(schema->name(), {"1.0.0"});
  auto old_two = worker(schema->name(), {"1.0.0"});
  start("before");
  waiting("before");
  // A node with both versions replaces each old node in turn. In between, both kinds run at the same time.
  old_one->signal(SIGTERM);
  EXPECT_EQ(old_one->read_line(), "stopped");
  auto new_one = worker(schema->name(), {"1.0.0", "2.0.0"});
  start("between");
  // Some waiting instances continue while both kinds run: each with the code that it began with.
  for (int i = 0; i < each / 2; ++i) client.raise_event(id("before", i), "go", 100).value();
  waiting("between");
  old_two->kill();
  auto new_two = worker(schema->name(), {"1.0.0", "2.0.0"});
  start("after");
  waiting("after");
  for (int i = each / 2; i < each; ++i) client.raise_event(id("before", i), "go", 100).value();
  for (const char* when : {"between", "after"}) {
    for (int i = 0; i < each; ++i) client.raise_event(id(when, i), "go", 100).value();
  }
  for (const char* when : {"before", "between", "after"}) {
    for (int i = 0; i < each; ++i) {
      const InstanceState state = client.wait(id(when, i), forever).value();
      const std::string version = client.get_instance(id(when, i)).value().version;
      if (std::string_view(when) == "before") EXPECT_EQ(version, "1.0.0");
      if (std::string_view(when) == "after") EXPECT_EQ(version, "2.0.0");
      EXPECT_EQ(state.output_as<std::string>(), version + " " + std::to_string(i + 102)) << when << i;
      EXPECT_EQ(count_events(client, id(when, i), "ActivityCompleted"), 2u) << when << i;
    }
  }
}

/// A later Duramen knows three schemas: this one, one that only adds to it, and one that removes something.
class LaterVersions : public Upgrades {
 protected:
  void SetUp() override {
    Upgrades::SetUp();
    if (IsSkipped()) return;
    options = schema->options();
    options.schema = "later_" + std::to_string(::getpid());
    drop();
    (void)postgres::open(options);
  }
  void TearDown() override {
    if (!options.schema.empty()) drop();
  }
  void drop() {
    schema->connection().script("SET client_min_messages TO warning; DROP SCHEMA IF EXISTS " +
                                detail::quoted_identifier(options.schema) + " CASCADE");
  }
  /// Opens the store as a Duramen that knows `more` later versions.
  void open_as_later(std::size_t more) {
    static constexpr std::string_view expand[] = {
        // Fails if it runs twice. Existing rows get the column as well.
        "CREATE TABLE colours (name text PRIMARY KEY); INSERT INTO colours VALUES ('blue');"
        "ALTER TABLE instances ADD COLUMN colour text DEFAULT 'blue';"
        "ALTER TABLE worker_queue ADD COLUMN colour text;"
        "SELECT pg_sleep(0.3)"};
    static constexpr std::string_view contract[] = {"DROP TABLE colours"};
    const auto now = static_cast<std::int64_t>(detail::migrations().size());
    std::vector<detail::Migration> known(detail::migrations().begin(), detail::migrations().end());
    known.push_back({expand, detail::migrations().back().works_with});
    known.push_back({contract, now + 2});
    known.resize(static_cast<std::size_t>(now) + more);
    detail::Connection connection{detail::ConnInfo{schema->conninfo()}, 30s, false, nullptr};
    detail::open_schema(connection, options.schema, true, known);
  }
  postgres::Options options;
};

TEST_F(LaterVersions, AMigrationThatOnlyAddsIsMadeOnceUnderNodesThatGoOnWorking) {
  constexpr int steps = 5;
  auto one = worker(options.schema, {"1.0.0"});
  auto two = worker(options.schema, {"1.0.0"});
  Client client{postgres::open(options)};
  std::atomic<int> started = 0;
  std::atomic<bool> migrated = false;
  std::jthread load([&] {
    for (int after = 0; after < 20; after += migrated ? 1 : 0) {
      while (!client.start("i" + std::to_string(started), "count_to", steps))
        std::this_thread::sleep_for(5ms);
      ++started;
    }
  });
  until([&] { return started > 20; });
  std::atomic<int> failures = 0;
  {
    std::vector<std::jthread> later;
    for (int i = 0; i < 3; ++i) {
      later.emplace_back([&] {
        // A deadlock with a node's transaction is retried.
        for (int attempt = 0;; ++attempt) {
          try {
            return open_as_later(1);
          } catch (const detail::SqlError& e) {
            if (e.state() == "40P01" && attempt < 20) continue;
            ADD_FAILURE() << e.what();
            ++failures;
            return;
          }
        }
      });
    }
  }
  migrated = true;
  load.join();
  ASSERT_EQ(failures, 0);
  const std::string in = detail::quoted_identifier(options.schema);
  EXPECT_EQ(schema->number("SELECT version FROM " + in + ".duramen_schema"),
            static_cast<std::int64_t>(detail::migrations().size()) + 1);
  EXPECT_EQ(schema->number("SELECT count(*) FROM " + in + ".colours"), 1);
  // A node of the earlier version still starts.
  auto three = worker(options.schema, {"1.0.0"});
  for (int i = 0; i < started; ++i) {
    const std::string id = "i" + std::to_string(i);
    EXPECT_EQ(client.wait(id, forever).value().output_as<int>(), steps);
    EXPECT_EQ(count_events(client, id, "ActivityCompleted"), static_cast<std::size_t>(steps));
  }
}

TEST_F(LaterVersions, AStoreThatNeedsANewerDuramenIsRefusedWithBothVersions) {
  open_as_later(2);
  const auto opened = postgres::open_provider(options);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::wrong_version);
  EXPECT_FALSE(opened.error().retryable);
  const auto now = detail::migrations().size();
  for (const std::string& words :
       {options.schema, "needs a Duramen that knows version " + std::to_string(now + 2),
        "knows up to " + std::to_string(now), std::string("use the newer Duramen")}) {
    EXPECT_NE(opened.error().message.find(words), std::string::npos) << opened.error().message;
  }
}

}  // namespace
}  // namespace duramen::test

int main(int argc, char** argv) {
  return duramen::test::run_worker_or_tests(argc, argv, duramen::test::run_worker);
}
