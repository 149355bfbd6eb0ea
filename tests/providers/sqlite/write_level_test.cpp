// A raise of the write level and a node that reports at the same time.
#include "providers/sqlite/fixture.hpp"
#include "support/until.hpp"

#include <fcntl.h>
#include <future>
#include <unistd.h>

namespace duramen::sqlite::test {

namespace {

/// True while a call of a store is in a write transaction, or waits for SQLite to begin one.
bool a_writer_is_at_work(const std::string& path) {
  const int file = ::open((path + "-lock").c_str(), O_RDWR | O_CLOEXEC);
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  const bool asked = ::fcntl(file, F_OFD_GETLK, &lock) == 0;
  ::close(file);
  return asked && lock.l_type != F_UNLCK;
}

TEST(TheWriteLevel, IsRaisedAfterANodeThatIsReporting) {
  const TempDir dir;
  const std::string path = dir.file("t.db");
  const auto provider = open_at(path);
  NodeRecord seen;
  seen.node = "seen";
  seen.max_engine_version = engine_version + 1;
  ASSERT_TRUE(provider->write_node(seen).has_value());
  RawConnection late{path};
  late.execute("BEGIN IMMEDIATE");
  late.execute(
      "INSERT INTO duramen_nodes (node_id, run, min_level, max_level, seen, record) SELECT 'late', 'r', 0, " +
      std::to_string(engine_version) + ", seen, record FROM duramen_nodes");
  auto raising = std::async(std::launch::async,
                            [&] { return provider->raise_write_level(engine_version + 1, 90s).value(); });
  duramen::test::until([&] { return a_writer_is_at_work(path); });
  late.execute("COMMIT");
  const WriteLevelRaise raise = raising.get();
  EXPECT_EQ(raise.held_back_by, std::vector<NodeId>{"late"});
  EXPECT_EQ(provider->get_write_level().value(), engine_version);
}

}  // namespace

}  // namespace duramen::sqlite::test
