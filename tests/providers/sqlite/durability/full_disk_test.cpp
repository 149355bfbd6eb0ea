// A full disk delays a store and its orchestrations, and fails neither.
#include "providers/sqlite/durability/simulated_disk.hpp"
#include "providers/sqlite/durability/store_content.hpp"
#include "providers/sqlite/fixture.hpp"
#include "support/signal.hpp"
#include <duramen/client.hpp>
#include <duramen/runtime.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/mount.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace duramen::sqlite::test {

namespace {

/// A file system of a few megabytes, if mounting is allowed.
class SmallDisk {
 public:
  SmallDisk() {
    std::filesystem::create_directory(where_);
    mounted_ = ::mount("tmpfs", where_.c_str(), "tmpfs", 0, "size=6m") == 0;
    if (!mounted_) why_not_ = std::strerror(errno);
  }
  ~SmallDisk() {
    if (mounted_) ::umount(where_.c_str());
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  [[nodiscard]] std::string file(const std::string& name) const { return where_ + "/" + name; }

  void fill() {
    const int file = ::open(this->file("ballast").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    const std::string bytes(4096, 'x');
    while (::write(file, bytes.data(), bytes.size()) > 0) {
    }
    ::close(file);
  }
  void make_room() { std::filesystem::remove(file("ballast")); }

 private:
  TempDir dir_;
  const std::string where_ = dir_.file("small");
  bool mounted_ = false;
  std::string why_not_;
};

void expect_full(const Error& error) {
  EXPECT_EQ(error.code, ErrorCode::unavailable) << error.describe();
  EXPECT_TRUE(error.retryable) << error.describe();
  EXPECT_NE(error.message.find("space"), std::string::npos) << error.describe();
}

/// Calls an activity several times. Each result takes space.
Registry make_registry() {
  Registry registry;
  registry.add("grow", [](OrchestrationContext& ctx, int target) -> Task<int> {
    int value = 0;
    while (value < target) {
      const auto text = co_await ctx.schedule_activity<std::string>("Grow", value);
      value = static_cast<int>(text.size()) / 1000;
    }
    co_return value;
  });
  registry.add("Grow", [](ActivityContext&, int value) {
    return std::string(static_cast<std::size_t>(value + 1) * 1000, 'x');
  });
  return registry;
}

/// Short, so that they end while the disk is full: the runtime then drops a commit and must recover.
RuntimeOptions short_leases() {
  RuntimeOptions options;
  options.activity_lease = 600ms;
  options.turn_lease = 600ms;
  options.poll_interval = 100ms;
  return options;
}

constexpr int instances = 4;
constexpr int target = 12;

std::string name_of(int i) { return "i" + std::to_string(i); }

void expect_all_completed(Client& client) {
  for (int i = 0; i < instances; ++i) {
    const auto ended = client.wait(name_of(i), duramen::test::forever).value();
    EXPECT_EQ(ended.status, Status::completed) << name_of(i);
    int ends = 0;
    for (const Event& event : client.read_history(name_of(i)).value()) {
      if (event_class(event) == EventClass::terminal) ++ends;
    }
    EXPECT_EQ(ends, 1);
  }
}

TEST(AFullDisk, FailsTheCallAsRetryableAndLosesNothing) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  start(*provider, "before");

  // A limit on the size of this process's files: to SQLite that is a full disk.
  struct rlimit unlimited{};
  ::getrlimit(RLIMIT_FSIZE, &unlimited);
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{4u << 20, unlimited.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &tight);
  StartRequest large = start_request("large");
  large.start.input = Payload::text(std::string(8u << 20, 'x'));
  const auto refused = provider->start_instances({&large, 1});
  ::setrlimit(RLIMIT_FSIZE, &unlimited);
  std::signal(SIGXFSZ, previous);

  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_TRUE(refused.error().retryable);
  EXPECT_TRUE(provider->get_instance("before").value().has_value());
  EXPECT_FALSE(provider->get_instance("large").value().has_value());
  EXPECT_EQ(provider->start_instances({&large, 1}).value().at(0), StartOutcome::created);
}

TEST(AFullDisk, StallsOrchestrationsAndFailsNone) {
  const TempDir dir;
  const std::string path = dir.file("t.db");
  SimulatedDisk disk;
  {
    const Store store = open(Options{.path = path, .initial_wal_bytes = 0});
    Runtime runtime{store, make_registry(), short_leases()};
    Client client{store};
    for (int i = 0; i < instances; ++i) client.start(name_of(i), "grow", target).value();
    disk.fill();
    // Often enough that every lease has ended and every call was repeated.
    const auto began = std::chrono::steady_clock::now();
    while (disk.failures() < 30 && std::chrono::steady_clock::now() - began < duramen::test::forever) {
      const auto refused = client.start("too-late", "grow", 1);
      if (!refused) EXPECT_TRUE(refused.error().retryable) << refused.error().describe();
      std::this_thread::yield();
    }
    ASSERT_GE(disk.failures(), 30u);
    for (int i = 0; i < instances; ++i) {
      EXPECT_NE(store.provider()->get_instance(name_of(i)).value()->status, Status::failed);
    }
    disk.repair();
    expect_all_completed(client);
  }
  EXPECT_EQ(find_contradiction(path), "");
}

TEST(AFullDisk, OfItsOwnIsReportedAndWaitedFor) {
  SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "no small file system available: " << disk.why_not();
  const std::string path = disk.file("t.db");
  {
    const auto provider = open_provider({.path = path, .initial_wal_bytes = 0}).value();
    start(*provider, "before");
    disk.fill();
    StartRequest request = start_request("too-large");
    request.start.input = Payload::text(std::string(64u << 10, 'x'));
    const auto refused = provider->start_instances({&request, 1});
    ASSERT_FALSE(refused.has_value());
    expect_full(refused.error());
    EXPECT_TRUE(provider->get_instance("before").value().has_value());
    EXPECT_FALSE(provider->get_instance("too-large").value().has_value());
    disk.make_room();
    EXPECT_EQ(provider->start_instances({&request, 1}).value().at(0), StartOutcome::created);
  }
  EXPECT_EQ(find_contradiction(path), "");
}

TEST(AFullDisk, OfItsOwnKeepsAStoreFromBeingCreatedAndIsReported) {
  SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "no small file system available: " << disk.why_not();
  disk.fill();
  const auto refused = open_provider({.path = disk.file("t.db")});
  ASSERT_FALSE(refused.has_value());
  expect_full(refused.error());
  disk.make_room();
  const auto provider = open_provider({.path = disk.file("t.db")});
  ASSERT_TRUE(provider.has_value()) << provider.error().describe();
  start(**provider, "a");
}

TEST(AFullDisk, OfItsOwnIsNotFilledByTheWal) {
  SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "no small file system available: " << disk.why_not();
  // Growing the WAL in advance is an optimisation: it must not take the last megabytes.
  const auto provider = open_provider({.path = disk.file("t.db"), .initial_wal_bytes = 64u << 20}).value();
  EXPECT_LT(std::filesystem::file_size(disk.file("t.db-wal")), 1u << 20);
  start(*provider, "a");
}

TEST(AFullDisk, OfItsOwnStallsOrchestrationsAndFailsNone) {
  SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "no small file system available: " << disk.why_not();
  const std::string path = disk.file("t.db");
  {
    const Store store = open(Options{.path = path, .initial_wal_bytes = 0});
    Runtime runtime{store, make_registry(), short_leases()};
    Client client{store};
    disk.fill();
    int refusals = 0;
    for (int i = 0; i < instances; ++i) {
      // The answer stays the same until there is room again.
      for (int tries = 0;; ++tries) {
        const auto started = client.start(name_of(i), "grow", target);
        if (started) break;
        ++refusals;
        expect_full(started.error());
        ASSERT_LT(tries, 100);
        if (tries == 2 + i) disk.make_room();
      }
      if (i + 1 < instances) disk.fill();
    }
    disk.make_room();
    EXPECT_GT(refusals, 0);
    expect_all_completed(client);
  }
  EXPECT_EQ(find_contradiction(path), "");
}

}  // namespace

}  // namespace duramen::sqlite::test
