// Random work on a store on a simulated disk, and its result without faults.
#pragma once

#include "providers/sqlite/durability/random_work.hpp"
#include "providers/sqlite/durability/simulated_disk.hpp"
#include "providers/sqlite/durability/store_content.hpp"
#include "providers/sqlite/fixture.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace duramen::sqlite::test {

/// The properties of a run that its seed decides.
struct Plan {
  explicit Plan(std::uint64_t number) : seed(number) {
    std::mt19937_64 random{number};
    calls = 10 + random() % 40;
    heavy = random() % 6 == 0;
    initial_wal_bytes =
        std::array<std::size_t, 8>{0, 0, 0, 64u << 10, 64u << 10, 64u << 10, 4u << 20, 9}[random() % 8];
    reopen_every = std::array<std::size_t, 3>{7, 25, 1000}[random() % 3];
    // Most runs checkpoint the WAL while they run, some after every call.
    max_wal_bytes = std::array<std::size_t, 4>{0, 32u << 10, 128u << 10, 14u << 20}[random() % 4];
  }
  std::uint64_t seed;
  std::size_t calls;
  bool heavy;
  std::size_t initial_wal_bytes;
  std::size_t reopen_every;
  std::size_t max_wal_bytes;

  [[nodiscard]] RandomWork::Settings work() const {
    return {.seed = seed, .largest_payload = heavy ? 80u << 10 : 200};
  }
};

/// A store on a simulated disk and random work on it.
struct Scene {
  explicit Scene(const Plan& the_plan) : plan(the_plan), work(plan.work(), clock) {}

  /// Runs until all calls are done or the disk fails. The failed call can be repeated.
  void run(const std::function<void()>& after_each = [] {}) {
    if (!open()) return;
    after_each();
    for (; acknowledged < plan.calls; ++acknowledged, after_each()) {
      if (acknowledged % plan.reopen_every == plan.reopen_every - 1 && !open()) return;
      work.choose();
      in_flight = true;
      if (!work.make(*provider)) return;
      in_flight = false;
      maintain();
    }
  }
  /// As the runtime does after its commits.
  void maintain() {
    if (acknowledged % 3 == 0) provider->maintain({});
  }
  bool open() {
    provider.reset();
    auto opened = open_provider({.path = path,
                                 .clock = &clock,
                                 .initial_wal_bytes = plan.initial_wal_bytes,
                                 .max_wal_bytes = plan.max_wal_bytes});
    if (opened) provider = *opened;
    if (!opened) error = opened.error();
    return opened.has_value();
  }

  const Plan plan;
  // Holds the side files: the lock and the bell.
  TempDir dir;
  const std::string path = dir.file("t.db");
  ManualClock clock;
  SimulatedDisk disk;
  RandomWork work;
  std::shared_ptr<Provider> provider;
  std::size_t acknowledged = 0;
  bool in_flight = false;
  Error error;
};

/// The same work on a disk that never fails: the content after each call, and the number of operations.
struct Reference {
  explicit Reference(const Plan& plan) {
    Scene scene{plan};
    scene.run([&] { contents.push_back(durable_content(scene.path)); });
    EXPECT_EQ(scene.acknowledged, plan.calls) << scene.error.describe();
    scene.provider.reset();
    operations = scene.disk.operations();
    syncs = scene.disk.syncs();
  }
  std::vector<std::string> contents;  ///< [n]: after n calls
  std::uint64_t operations = 0;
  std::set<std::uint64_t> syncs;  ///< the operations that were syncs
};

/// Describes the first difference of two contents.
inline std::string difference(const std::string& expected, const std::string& found) {
  const auto [a, b] = std::ranges::mismatch(expected, found);
  const auto from = std::max<std::ptrdiff_t>(0, a - expected.begin() - 200);
  return "expected ..." + expected.substr(static_cast<std::size_t>(from), 400) + "\nfound ..." +
         found.substr(static_cast<std::size_t>(from), 400);
}

}  // namespace duramen::sqlite::test
