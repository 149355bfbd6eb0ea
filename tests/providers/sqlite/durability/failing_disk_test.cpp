// The disk is full, or fails, at every operation of a run in turn. The affected call returns an error and
// stores nothing; after the repair the same call works, and the run ends as without the fault.
#include "providers/sqlite/durability/disk_scene.hpp"
#include "providers/sqlite/durability/finishing.hpp"
#include "providers/sqlite/durability/scale.hpp"

namespace duramen::sqlite::test {

namespace {

using Fault = SimulatedDisk::Fault;

Plan short_plan(std::uint64_t seed) {
  Plan plan{seed};
  plan.calls = 11;
  plan.heavy = false;
  plan.initial_wal_bytes = 8u << 10;
  plan.reopen_every = 7;
  plan.max_wal_bytes = seed % 2 == 0 ? 14u << 20 : 24u << 10;
  return plan;
}

void expect_clear(const Error& error, Fault fault) {
  EXPECT_EQ(error.code, ErrorCode::unavailable) << error.describe();
  EXPECT_TRUE(error.retryable) << error.describe();
  EXPECT_FALSE(error.operation.empty());
  const char* word = fault == Fault::full ? "space" : "check the";
  EXPECT_NE(error.message.find(word), std::string::npos) << error.describe();
}

/// Runs the plan with one fault, which is repaired after the first call that fails. Returns the number of
/// failed calls.
class FaultyRun {
 public:
  FaultyRun(const Plan& plan, const Reference& reference, Fault fault, bool lasting)
      : scene_(plan), reference_(reference), fault_(fault), lasting_(lasting) {}

  int run(std::uint64_t nth) {
    scene_.disk.fail_at(nth, fault_, lasting_);
    open();
    while (scene_.acknowledged < scene_.plan.calls && !::testing::Test::HasFailure()) {
      if (scene_.acknowledged % scene_.plan.reopen_every == scene_.plan.reopen_every - 1) open();
      if (!scene_.provider) break;
      scene_.work.choose();
      make();
      scene_.maintain();
      ++scene_.acknowledged;
    }
    scene_.disk.repair();
    return met_;
  }

  void expect_same_end() {
    EXPECT_EQ(durable_content(scene_.path), reference_.contents.at(scene_.acknowledged));
    EXPECT_EQ(find_contradiction(scene_.path), "");
  }
  /// Cuts the power now: calls acknowledged after the fault must survive as well.
  void expect_same_after_power_loss() {
    std::mt19937_64 random{1};
    scene_.disk.cut_power();
    scene_.disk.restore_power(random, {.chance = 0});
    ASSERT_TRUE(scene_.open()) << scene_.error.describe();
    const std::string found = durable_content(scene_.path);
    const std::string& expected = reference_.contents.at(scene_.acknowledged);
    EXPECT_TRUE(found == expected) << difference(expected, found);
    EXPECT_EQ(find_contradiction(scene_.path), "");
  }

 private:
  void open() {
    if (scene_.open()) return;
    ++met_;
    expect_clear(scene_.error, fault_);
    scene_.disk.repair();
    EXPECT_TRUE(scene_.open()) << scene_.error.describe();
  }
  void make() {
    auto answer = scene_.work.make(*scene_.provider);
    if (answer) return;
    ++met_;
    expect_clear(answer.error(), fault_);
    if (lasting_) {
      // Still full: the same answer, unless this call needs no space.
      answer = scene_.work.make(*scene_.provider);
      if (answer) return;
      expect_clear(answer.error(), fault_);
    }
    scene_.disk.repair();
    const std::string found = durable_content(scene_.path);
    const std::string& expected = reference_.contents.at(scene_.acknowledged);
    EXPECT_TRUE(found == expected) << scene_.work.name() << "\n" << difference(expected, found);
    answer = scene_.work.make(*scene_.provider);
    EXPECT_TRUE(answer.has_value()) << scene_.work.name() << ": " << answer.error().describe();
  }

  Scene scene_;
  const Reference& reference_;
  const Fault fault_;
  const bool lasting_;
  int met_ = 0;
};

/// A run with a fault at each of its operations in turn.
void try_every_operation(Fault fault, bool lasting, std::uint64_t seed) {
  // There are few syncs: all of them are always tried.
  const std::size_t step = fault == Fault::lost_sync ? 1 : amount("DURAMEN_FAULT_STEP", 1, 7);
  int met = 0;
  const Plan plan = short_plan(seed);
  const Reference reference{plan};
  for (std::uint64_t nth = 1; nth <= reference.operations; nth += step) {
    if (fault == Fault::lost_sync && !reference.syncs.contains(nth)) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", fault at operation " + std::to_string(nth));
    FaultyRun run{plan, reference, fault, lasting};
    met += run.run(nth);
    run.expect_same_end();
    run.expect_same_after_power_loss();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(met, 5);
}

TEST(AFailingDisk, ThatIsFullOnceCostsOneRetry) { try_every_operation(Fault::full, false, 11); }

TEST(AFailingDisk, ThatStaysFullIsWaitedFor) { try_every_operation(Fault::full, true, 12); }

TEST(AFailingDisk, ThatErrsOnceCostsOneRetry) { try_every_operation(Fault::io_error, false, 13); }

TEST(AFailingDisk, ThatKeepsErringIsWaitedFor) { try_every_operation(Fault::io_error, true, 11); }

TEST(AFailingDisk, ThatLosesWhatItFailedToSyncIsWrittenAgain) {
  // After a failed sync the system may treat the pages as clean. A second sync of the WAL alone would leave a
  // hole, and the next power cut would lose every later commit.
  for (const bool closes : {false, true}) {
    SCOPED_TRACE(closes);
    TempDir dir;
    SimulatedDisk disk;
    const std::string path = dir.file("t.db");
    auto provider = open_at(path);
    start(*provider, "a");
    // Not synced: the sync of the next commit also writes it.
    ASSERT_EQ(provider->fetch_turns(fetch_turns()).value().items.size(), 1u);
    disk.fail_at(disk.operations() + 1, Fault::lost_sync, false);
    const StartRequest b = start_request("b");
    ASSERT_FALSE(provider->start_instances({&b, 1}).has_value());
    if (closes) {
      // Such a WAL must not be checkpointed: not now, and not by closing.
      provider.reset();
      provider = open_at(path);
    }
    ASSERT_TRUE(provider->start_instances({&b, 1}).has_value());
    std::mt19937_64 random{1};
    disk.cut_power();
    disk.restore_power(random, {.chance = 0});
    provider = open_at(path);
    EXPECT_TRUE(provider->get_instance("a").value().has_value());
    EXPECT_TRUE(provider->get_instance("b").value().has_value());
    EXPECT_EQ(find_contradiction(path), "");
  }
}

TEST(AFailingDisk, ThatLosesWhatItFailedToSyncAtAnyMomentLosesNothingElse) {
  try_every_operation(Fault::lost_sync, false, 11);
  try_every_operation(Fault::lost_sync, false, 12);
}

TEST(AFailingDisk, ThatCannotBeReadIsWaitedFor) {
  const Plan plan = short_plan(11);
  const Reference reference{plan};
  int met = 0;
  for (std::size_t at = 0; at < plan.calls; ++at) {
    SCOPED_TRACE(at);
    Scene scene{plan};
    ASSERT_TRUE(scene.open());
    for (; scene.acknowledged < plan.calls; ++scene.acknowledged) {
      scene.work.choose();
      if (scene.acknowledged == at) {
        ASSERT_TRUE(scene.open());  // with nothing read yet
        scene.disk.fail_reads(true);
      }
      auto answer = scene.work.make(*scene.provider);
      if (!answer) {
        ++met;
        expect_clear(answer.error(), Fault::io_error);
        scene.disk.repair();
        answer = scene.work.make(*scene.provider);
      }
      ASSERT_TRUE(answer.has_value()) << answer.error().describe();
      scene.disk.repair();
    }
    EXPECT_EQ(durable_content(scene.path), reference.contents.back());
  }
  EXPECT_GT(met, 3);
}

TEST(AFailingDisk, ThatCannotBeReadIsNotReportedAsDamage) {
  TempDir dir;
  SimulatedDisk disk;
  const std::string path = dir.file("t.db");
  auto provider = open_at(path);
  start(*provider, "a");
  provider.reset();

  disk.fail_reads(true);
  const auto refused = open_provider({.path = path});
  ASSERT_FALSE(refused);
  expect_clear(refused.error(), Fault::io_error);
  EXPECT_NE(refused.error().message.find("Input/output error"), std::string::npos) << refused.error().message;
  EXPECT_EQ(refused.error().message.find("backup"), std::string::npos) << refused.error().message;

  disk.repair();
  provider = open_at(path);
  disk.fail_reads(true);
  const auto unread = provider->list_instances({});
  ASSERT_FALSE(unread);
  expect_clear(unread.error(), Fault::io_error);
  disk.repair();
  EXPECT_EQ(provider->list_instances({}).value().instances.size(), 1u);
}

TEST(AFailingDisk, ThatWasReadAgainHidesNoDamage) {
  TempDir dir;
  SimulatedDisk disk;
  const std::string path = dir.file("t.db");
  auto provider = open_at(path);
  for (int i = 0; i < 50; ++i) start(*provider, "a" + std::to_string(i));
  provider.reset();
  provider = open_at(path);
  disk.fail_reads(true);
  EXPECT_EQ(provider->list_instances({}).error().code, ErrorCode::unavailable);
  disk.repair();
  disk.damage(path, 4096);  // the first page locates the others
  const auto damaged = provider->list_instances({});
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, ErrorCode::corrupt) << damaged.error().describe();
}

}  // namespace

}  // namespace duramen::sqlite::test
