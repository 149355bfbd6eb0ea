// Short forms of what tests of the SQLite store often need.
#pragma once

#include "support/child_process.hpp"
#include "support/temp_dir.hpp"
#include <duramen/sqlite.hpp>
#include <duramen/testing/manual_clock.hpp>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace duramen::sqlite::test {

using namespace std::chrono_literals;

using duramen::test::ChildProcess;
using duramen::test::TempDir;
using duramen::testing::ManualClock;

/// A connection that bypasses the provider, to read or damage the file.
class RawConnection {
 public:
  explicit RawConnection(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &connection_), SQLITE_OK);
  }
  ~RawConnection() { sqlite3_close(connection_); }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  void execute(const std::string& sql) {
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
    sqlite3_free(message);
  }
  [[nodiscard]] std::string text(const std::string& sql) {
    std::string found;
    const auto take = [](void* out, int, char** values, char**) {
      *static_cast<std::string*>(out) = values[0] != nullptr ? values[0] : "";
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(connection_, sql.c_str(), take, &found, nullptr), SQLITE_OK)
        << sqlite3_errmsg(connection_);
    return found;
  }

 private:
  sqlite3* connection_ = nullptr;
};

inline std::shared_ptr<Provider> open_at(const std::string& path, const Clock* clock = nullptr) {
  return open_provider({.path = path, .clock = clock}).value();
}

inline StartRequest start_request(const std::string& id) {
  StartRequest request;
  request.instance = id;
  request.start.orchestration = "Hello";
  request.start.input = Payload::text("world");
  return request;
}

/// The first turn of an instance, fused with its start: schedules one activity, event 2.
inline TurnCommit first_turn(const std::string& id, std::uint64_t token,
                             std::optional<LeaseToken> born_leased = std::nullopt) {
  TurnCommit commit;
  commit.token = CommitToken{token};
  commit.node = "node-a";
  commit.instance = id;
  commit.basis = FusedStart{start_request(id)};
  commit.execution = ExecutionId{1};
  event::OrchestrationStarted started;
  started.name = "Hello";
  started.version = "1.0.0";
  started.input = Payload::text("world");
  event::ActivityScheduled scheduled;
  scheduled.name = "Greet";
  scheduled.input = Payload::text("world");
  commit.events = {{EventId{1}, {}, from_unix_ms(1'750'000'000'000), started},
                   {EventId{2}, {}, from_unix_ms(1'750'000'000'000), scheduled}};
  commit.change.version = "1.0.0";
  NewActivity item;
  item.request.instance = id;
  item.request.key = {{}, ExecutionId{1}, EventId{2}};
  item.request.name = "Greet";
  item.request.input = Payload::text("world");
  item.request.orchestration_name = "Hello";
  item.request.orchestration_version = "1.0.0";
  item.born_leased = born_leased;
  commit.new_activities.push_back(item);
  commit.activity_lease = 30s;
  return commit;
}

/// The last turn, caused by the end of that activity.
inline TurnCommit last_turn(const TurnCommit& first, Incarnation incarnation, std::uint64_t token,
                            LeaseToken lease) {
  TurnCommit commit;
  commit.token = CommitToken{token};
  commit.node = first.node;
  commit.instance = first.instance;
  commit.incarnation = incarnation;
  commit.basis = ConditionalLease{EventId{2}};
  commit.execution = ExecutionId{1};
  commit.activity_acks.push_back(
      {{{incarnation, ExecutionId{1}, EventId{2}}, lease}, first.instance, Payload::text("hi")});
  commit.events = {{EventId{3}, EventId{2}, {}, event::ActivityCompleted{Payload::text("hi")}},
                   {EventId{4}, {}, {}, event::OrchestrationCompleted{Payload::text("hi")}}};
  commit.change.status = Status::completed;
  commit.change.output = Payload::text("hi");
  commit.cancel_rest = CancelReason::orchestration_terminal_completed;
  return commit;
}

inline CommitResult commit_one(Provider& provider, const TurnCommit& commit) {
  return provider.commit_turns({&commit, 1}).value().at(0);
}

inline TurnFetch fetch_turns(const NodeId& node = "node-a", Duration lease = 30s) {
  return {.node = node, .limit = 16, .lease = lease};
}
inline ActivityFetch fetch_work(const NodeId& node = "node-a", Duration lease = 30s) {
  return {.node = node, .limit = 16, .lease = lease};
}

inline void start(Provider& provider, const std::string& id) {
  const StartRequest request = start_request(id);
  ASSERT_EQ(provider.start_instances({&request, 1}).value().at(0), StartOutcome::created);
}

}  // namespace duramen::sqlite::test
