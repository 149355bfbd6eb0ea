// The WAL is checkpointed by maintenance when it is long, and at the latest when it is too long.
#include "providers/sqlite/durability/simulated_disk.hpp"
#include "providers/sqlite/durability/store_content.hpp"
#include "providers/sqlite/fixture.hpp"
#include "providers/sqlite/side_lock.hpp"

#include <chrono>
#include <filesystem>
#include <future>
#include <stop_token>

namespace duramen::sqlite::test {

namespace {

constexpr std::size_t max_wal = 4u << 20;
// The size of a WAL that maintenance checkpoints and that is not yet too long.
constexpr std::size_t pages = 880;

std::shared_ptr<Provider> open_small(const std::string& path) {
  return open_provider({.path = path, .initial_wal_bytes = 0, .max_wal_bytes = max_wal}).value();
}

void start_large(Provider& provider, const std::string& id, std::size_t bytes) {
  StartRequest request = start_request(id);
  request.start.input = Payload::text(std::string(bytes, 'x'));
  ASSERT_TRUE(provider.start_instances({&request, 1}).has_value());
}

std::stop_token preempted() {
  std::stop_source source;
  source.request_stop();
  return source.get_token();
}

TEST(Wal, IsCheckpointedByMaintenance) {
  const TempDir dir;
  const auto provider = open_small(dir.file("t.db"));
  start_large(*provider, "a", pages << 12);
  const auto size = [&] { return std::filesystem::file_size(dir.file("t.db")); };
  const auto before = size();
  provider->maintain(preempted());
  EXPECT_EQ(size(), before);
  provider->maintain({});
  EXPECT_GT(size(), before + (pages << 12));
}

// Maintenance once queued for the write lock, which it would have released unused, and a cancel waited behind
// it.
TEST(Wal, IsNotWaitedForByPreemptedMaintenance) {
  const TempDir dir;
  const auto provider = open_small(dir.file("t.db"));
  start_large(*provider, "a", pages << 12);
  detail::SideLock another_process(dir.file("t.db-lock"));
  another_process.lock();
  auto maintained = std::async(std::launch::async, [&] { provider->maintain(preempted()); });
  EXPECT_EQ(maintained.wait_for(std::chrono::seconds{60}), std::future_status::ready);
  another_process.unlock();
  EXPECT_TRUE(provider->wants_maintenance());
}

TEST(Wal, StaysWhereItIsWhileItIsShort) {
  const TempDir dir;
  const auto provider = open_small(dir.file("t.db"));
  start_large(*provider, "a", (pages << 12) / 2);
  const auto before = std::filesystem::file_size(dir.file("t.db"));
  provider->maintain({});
  EXPECT_EQ(std::filesystem::file_size(dir.file("t.db")), before);
}

TEST(Wal, IsCheckpointedWhenItIsTooLongEvenIfPreempted) {
  const TempDir dir;
  const auto provider = open_small(dir.file("t.db"));
  constexpr std::size_t each = 400u << 10;
  for (int i = 0; i < 60; ++i) {
    start_large(*provider, "i-" + std::to_string(i), each);
    provider->maintain(preempted());
    ASSERT_LT(std::filesystem::file_size(dir.file("t.db-wal")), max_wal + 2 * each);
  }
  EXPECT_GT(std::filesystem::file_size(dir.file("t.db")), 4 * max_wal);
}

TEST(Wal, ACheckpointStopsWhenItIsPreempted) {
  const TempDir dir;
  SimulatedDisk disk;
  const std::string path = dir.file("t.db");
  auto provider = open_small(path);
  start_large(*provider, "a", pages << 12);
  std::stop_source preempt;
  const auto before = disk.operations();
  disk.during(before + 20, [&] { preempt.request_stop(); });
  provider->maintain(preempt.get_token());
  EXPECT_TRUE(preempt.stop_requested());
  EXPECT_LE(disk.operations(), before + 21);

  // Later calls are not interrupted, and nothing is lost.
  start(*provider, "b");
  provider->maintain({});
  EXPECT_GT(disk.operations(), before + 20 + pages);
  start(*provider, "c");
  std::mt19937_64 random{1};
  disk.cut_power();
  disk.restore_power(random, {.chance = 0});
  provider = open_small(path);
  for (const char* id : {"a", "b", "c"}) {
    EXPECT_TRUE(provider->get_instance(id).value().has_value()) << id;
  }
  EXPECT_EQ(find_contradiction(path), "");
}

TEST(Wal, ACheckpointMayStopAtAnyMomentWithoutHarm) {
  const TempDir dir;
  for (std::uint64_t at = 1; at < 60; at += 3) {
    SCOPED_TRACE(at);
    SimulatedDisk disk;
    const std::string path = dir.file("t.db");
    auto provider = open_small(path);
    start(*provider, "a");
    start_large(*provider, "b", pages << 12);
    ASSERT_TRUE(provider->wants_maintenance());
    std::stop_source preempt;
    disk.during(disk.operations() + at, [&] { preempt.request_stop(); });
    disk.cut_power_at(disk.operations() + at + 25);
    provider->maintain(preempt.get_token());
    EXPECT_TRUE(preempt.stop_requested());
    EXPECT_TRUE(provider->wants_maintenance());
    if (disk.has_power()) disk.cut_power();
    std::mt19937_64 random{at};
    disk.restore_power(random, {.chance = 0.5, .sector = 512});
    provider = open_at(path);
    EXPECT_TRUE(provider->get_instance("a").value().has_value());
    EXPECT_TRUE(provider->get_instance("b").value().has_value());
    EXPECT_EQ(find_contradiction(path), "");
  }
}

}  // namespace

}  // namespace duramen::sqlite::test
