// Power fails at any moment, and every acknowledged change survives.
//
// A store may lose what it need not keep beyond a boot of its machine: leases (token, end, owner), attempt
// counts, the delay of a release, and whether a stolen lease was reported. `durable_content` leaves out
// exactly that. After a cut in the middle of call n + 1, the rest of the file must equal the content after
// call n or after call n + 1.
#include "providers/sqlite/durability/disk_scene.hpp"
#include "providers/sqlite/durability/finishing.hpp"
#include "providers/sqlite/durability/scale.hpp"
#include "providers/sqlite/durability/store_content.hpp"
#include "providers/sqlite/fixture.hpp"

#include <array>

namespace duramen::sqlite::test {

namespace {

std::string describe(const Plan& plan, std::uint64_t cut_at, const SimulatedDisk::Survival& survival) {
  return "seed " + std::to_string(plan.seed) + ", cut in operation " + std::to_string(cut_at) + ", chance " +
         std::to_string(survival.chance) + " of " + std::to_string(survival.sector) + " bytes";
}

void expect_intact(Scene& scene, const Reference& reference, bool may_have_one_more) {
  const std::string found = durable_content(scene.path);
  const std::string& expected = reference.contents.at(scene.acknowledged);
  const bool as_acknowledged = found == expected;
  const bool one_more = may_have_one_more && found == reference.contents.at(scene.acknowledged + 1);
  EXPECT_TRUE(as_acknowledged || one_more) << difference(expected, found);
  EXPECT_EQ(find_contradiction(scene.path), "");
}

void expect_work_goes_on(Scene& scene) {
  scene.provider.reset();
  pretend_new_boot(scene.path);
  ASSERT_TRUE(scene.open()) << scene.error.describe();
  finish_everything(*scene.provider, scene.clock, scene.path);
  EXPECT_EQ(find_contradiction(scene.path), "");
}

SimulatedDisk::Survival some_survival(std::mt19937_64& random) {
  return {.chance = std::array<double, 4>{0, 0.1, 0.5, 0.9}[random() % 4],
          .sector = random() % 2 == 0 ? std::size_t{512} : std::size_t{4096}};
}

constexpr std::size_t cuts_per_seed = 20;

/// A thousand rounds, in parts that can run in parallel.
class PowerLosses : public ::testing::TestWithParam<std::uint64_t> {};

INSTANTIATE_TEST_SUITE_P(FromSeed, PowerLosses, ::testing::Values(1, 101, 201, 301),
                         [](const auto& info) { return std::to_string(info.param); });

TEST_P(PowerLosses, LoseNothingThatWasAcknowledgedAndLeaveNothingHalfDone) {
  const std::size_t rounds = amount("DURAMEN_POWER_LOSS_ROUNDS", 1000, 80) / 4;
  std::size_t in_opening = 0;
  std::size_t in_calls = 0;
  for (std::size_t round = 0; round < rounds;) {
    const Plan plan{GetParam() + round / cuts_per_seed};
    const Reference reference{plan};
    std::mt19937_64 random{plan.seed * 7919};
    for (std::size_t cut = 0; cut < cuts_per_seed && round < rounds; ++cut, ++round) {
      const std::uint64_t at = 1 + random() % reference.operations;
      const auto survival = some_survival(random);
      SCOPED_TRACE(describe(plan, at, survival));
      Scene scene{plan};
      scene.disk.cut_power_at(at);
      scene.run();
      // No call notices a cut while the store closes.
      if (!scene.disk.has_power()) ++(scene.in_flight ? in_calls : in_opening);
      if (scene.disk.has_power()) scene.provider.reset();
      scene.disk.restore_power(random, survival);
      const bool half = scene.in_flight;
      ASSERT_TRUE(scene.open()) << scene.error.describe();
      expect_intact(scene, reference, half);
      if (round % 3 == 0) expect_work_goes_on(scene);
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(in_calls, rounds / 3);
  EXPECT_GT(in_opening, 0u);
}

TEST(PowerLoss, AfterACrashTakesNothingBackThatTheNextProcessAcknowledged) {
  // A process dies after its commit is written and before it is synced. The next process reads that commit
  // and confirms a repeated call: from then on the commit must be durable.
  const std::size_t rounds = amount("DURAMEN_POWER_LOSS_ROUNDS", 1000, 80) / 4;
  std::size_t repeated = 0;
  for (std::size_t round = 0; round < rounds;) {
    const Plan plan{1001 + round / cuts_per_seed};
    const Reference reference{plan};
    std::mt19937_64 random{plan.seed * 7919};
    for (std::size_t cut = 0; cut < cuts_per_seed && round < rounds; ++cut, ++round) {
      const std::uint64_t at = 1 + random() % reference.operations;
      SCOPED_TRACE(describe(plan, at, {}));
      Scene scene{plan};
      scene.disk.cut_power_at(at);
      scene.run();
      if (!scene.in_flight) continue;
      scene.disk.kill_processes();
      ASSERT_TRUE(scene.open()) << scene.error.describe();
      const auto again = scene.work.make(*scene.provider);
      ASSERT_TRUE(again.has_value()) << again.error().describe();
      ++scene.acknowledged;
      ++repeated;
      scene.disk.cut_power();
      scene.disk.restore_power(random, {.chance = 0});
      ASSERT_TRUE(scene.open()) << scene.error.describe();
      expect_intact(scene, reference, false);
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(repeated, rounds / 3);
}

TEST(PowerLoss, TakesAwayWhatWasNeverSynced) {
  // The tests above rely on a simulated disk that forgets.
  TempDir dir;
  ManualClock clock;
  SimulatedDisk disk;
  std::mt19937_64 random{1};
  const std::string path = dir.file("t.db");
  const auto open = [&](Options::Durability durability) {
    return open_provider({.path = path, .clock = &clock, .durability = durability}).value();
  };
  auto provider = open(Options::Durability::full);
  start(*provider, "synced");
  provider.reset();
  provider = open(Options::Durability::off);
  start(*provider, "not-synced");
  disk.cut_power();
  disk.restore_power(random, {.chance = 0});
  provider = open(Options::Durability::full);
  EXPECT_TRUE(provider->get_instance("synced").value().has_value());
  EXPECT_FALSE(provider->get_instance("not-synced").value().has_value());
}

TEST(PowerLoss, MayTakeALeaseAndThenTheWorkIsFreeAgain) {
  TempDir dir;
  ManualClock clock;
  SimulatedDisk disk;
  std::mt19937_64 random{1};
  const std::string path = dir.file("t.db");
  auto provider = open_at(path, &clock);
  start(*provider, "a");
  ASSERT_EQ(provider->fetch_turns(fetch_turns()).value().items.size(), 1u);
  ASSERT_EQ(provider->fetch_turns(fetch_turns()).value().items.size(), 0u);
  disk.cut_power();
  disk.restore_power(random, {.chance = 0});
  provider = open_at(path, &clock);
  const auto batch = provider->fetch_turns(fetch_turns()).value();
  ASSERT_EQ(batch.items.size(), 1u);
  EXPECT_EQ(batch.items[0].attempt, 1u);
}

}  // namespace

}  // namespace duramen::sqlite::test
