// Several processes on one file.
#include "providers/sqlite/fixture.hpp"
#include "providers/sqlite/second_process.hpp"

#include <csignal>
#include <unistd.h>

namespace duramen::sqlite::test {

namespace {

/// Starts and finishes `count` instances, one commit each.
int write_instances(const std::string& path, const std::string& prefix, int count) {
  const auto store = open_provider({.path = path});
  if (!store) {
    std::fprintf(stderr, "%s\n", store.error().describe().c_str());
    return 2;
  }
  Provider& provider = **store;
  const std::uint64_t base = static_cast<std::uint64_t>(::getpid()) << 32;
  for (int i = 0; i < count; ++i) {
    const LeaseToken lease{base + 3u * static_cast<std::uint64_t>(i) + 1};
    const TurnCommit first = first_turn(prefix + std::to_string(i), lease.value + 1, lease);
    const auto begun = provider.commit_turns({&first, 1});
    if (!begun || (*begun)[0].outcome != CommitOutcome::committed) return 3;
    const TurnCommit last = last_turn(first, (*begun)[0].incarnation, lease.value + 2, lease);
    const auto ended = provider.commit_turns({&last, 1});
    if (!ended || (*ended)[0].outcome != CommitOutcome::committed) return 4;
  }
  return 0;
}

/// Starts one instance and dies without closing anything.
int start_and_die(const std::string& path) {
  const auto provider = open_provider({.path = path}).value();
  start(*provider, "from-the-dead");
  ::kill(::getpid(), SIGKILL);
  return 1;
}

}  // namespace

int run_second_process(const std::vector<std::string>& arguments) {
  const std::string& task = arguments.at(0);
  if (task == "write") return write_instances(arguments.at(1), arguments.at(2), std::stoi(arguments.at(3)));
  if (task == "start-and-die") return start_and_die(arguments.at(1));
  return 64;
}

TEST(Processes, CreateOneNewFileTogetherAndWriteItAtTheSameTime) {
  const TempDir dir;
  const std::string path = dir.file("t.db");
  constexpr int count = 40;
  {
    ChildProcess a{{"--second-process", "write", path, "a-", std::to_string(count)}};
    ChildProcess b{{"--second-process", "write", path, "b-", std::to_string(count)}};
    ChildProcess c{{"--second-process", "write", path, "c-", std::to_string(count)}};
    EXPECT_EQ(a.wait(), 0);
    EXPECT_EQ(b.wait(), 0);
    EXPECT_EQ(c.wait(), 0);
  }
  RawConnection raw{path};
  EXPECT_EQ(raw.text("SELECT count(*) FROM duramen_instances WHERE status = 'Completed'"),
            std::to_string(3 * count));
  EXPECT_EQ(raw.text("SELECT count(DISTINCT key) FROM duramen_instances"), std::to_string(3 * count));
  EXPECT_EQ(raw.text("SELECT count(*) FROM duramen_worker_queue"), "0");
  EXPECT_EQ(raw.text("PRAGMA integrity_check"), "ok");
}

TEST(Processes, TheCommitsOfAKilledProcessAreThere) {
  const TempDir dir;
  const std::string path = dir.file("t.db");
  ChildProcess doomed{{"--second-process", "start-and-die", path}};
  EXPECT_EQ(doomed.wait(), -SIGKILL);

  const auto provider = open_at(path);
  const auto batch = provider->fetch_turns(fetch_turns()).value();
  ASSERT_EQ(batch.items.size(), 1u);
  EXPECT_EQ(batch.items[0].instance, InstanceId{"from-the-dead"});
}

}  // namespace duramen::sqlite::test
