// A process is killed at random moments, again and again. Acknowledged calls survive, no call is stored in
// part, and the next process continues with the same file.
#include "providers/sqlite/durability/disk_scene.hpp"
#include "providers/sqlite/durability/finishing.hpp"
#include "providers/sqlite/durability/scale.hpp"
#include "providers/sqlite/durability/tasks.hpp"
#include "support/child_process.hpp"

#include <unistd.h>

namespace duramen::sqlite::test {

namespace {

RandomWork::Settings work_of_round(std::uint64_t seed) {
  const bool heavy = seed % 5 == 0;
  return {
      .seed = seed, .prefix = "r" + std::to_string(seed) + "-", .largest_payload = heavy ? 60u << 10 : 300};
}

void set_clock(ManualClock& clock, std::uint64_t seed) { clock.advance(Duration{7'200'000} * seed); }

/// Copies the file and its WAL. No store may be open.
void copy_store(const std::string& from, const std::string& to) {
  for (const char* part : {"", "-wal", "-shm"}) {
    std::filesystem::remove(to + part);
    if (std::string_view(part) != "-shm" && std::filesystem::exists(from + part)) {
      std::filesystem::copy_file(from + part, to + part);
    }
  }
}

/// The content of the store after `calls` calls, and after one more.
struct Expected {
  std::string acknowledged;
  std::string one_more;
};

Expected expected_after(const std::string& path, std::uint64_t seed, std::size_t calls) {
  ManualClock clock;
  set_clock(clock, seed);
  RandomWork work{work_of_round(seed), clock};
  const auto provider =
      open_provider({.path = path, .clock = &clock, .durability = Options::Durability::off}).value();
  const auto next = [&] {
    work.choose();
    EXPECT_TRUE(work.make(*provider).has_value());
  };
  for (std::size_t i = 0; i < calls; ++i) next();
  Expected expected{durable_content(path), {}};
  next();
  expected.one_more = durable_content(path);
  return expected;
}

TEST(AKilledProcess, LosesNothingThatWasAcknowledged) {
  const std::size_t rounds = amount("DURAMEN_KILL_ROUNDS", 100, 15);
  constexpr std::size_t rounds_per_file = 10;
  std::size_t answered = 0;
  for (std::size_t round = 0; round < rounds;) {
    const TempDir dir;
    const std::string path = dir.file("t.db");
    const std::string before = dir.file("before.db");
    const std::string copy = dir.file("copy.db");
    for (std::size_t i = 0; i < rounds_per_file && round < rounds; ++i, ++round) {
      const std::uint64_t seed = round + 1;
      SCOPED_TRACE("seed " + std::to_string(seed));
      std::mt19937_64 random{seed};
      copy_store(path, before);

      ChildProcess child({"--task", "random-work", path, std::to_string(seed)});
      std::size_t calls = 0;
      for (std::size_t wanted = random() % 25; calls < wanted; ++calls)
        ASSERT_EQ(child.read_line(), "answered");
      // To hit every point of a call, not only its beginning.
      ::usleep(static_cast<useconds_t>(random() % 3000));
      child.kill();
      while (child.read_line() == "answered") ++calls;
      answered += calls;

      const Expected expected = expected_after(before, seed, calls);
      // Every other time on a copy, so that the next process finds the WAL as the killed one left it.
      const bool on_copy = i % 2 == 1;
      if (on_copy) copy_store(path, copy);
      const std::string& looked_at = on_copy ? copy : path;
      if (std::filesystem::exists(path)) {
        const auto provider = open_provider({.path = looked_at}).value();
        const std::string found = durable_content(looked_at);
        EXPECT_TRUE(found == expected.acknowledged || found == expected.one_more)
            << calls << " calls\n"
            << difference(expected.acknowledged, found);
        EXPECT_EQ(find_contradiction(looked_at), "");
      } else {
        EXPECT_EQ(calls, 0u);
      }
      if (::testing::Test::HasFailure()) return;
    }
    ManualClock clock;
    set_clock(clock, round + 1);
    finish_everything(*open_at(path, &clock), clock, path);
    EXPECT_EQ(find_contradiction(path), "");
  }
  EXPECT_GT(answered, rounds * 5);
}

}  // namespace

int do_random_work(const Arguments& arguments) {
  const std::uint64_t seed = std::stoull(arguments.at(1));
  ManualClock clock;
  set_clock(clock, seed);
  RandomWork work{work_of_round(seed), clock};
  const auto provider = open_provider({.path = arguments.at(0), .clock = &clock}).value();
  while (true) {
    work.choose();
    work.make(*provider).value();
    // In one call, so that a line is complete or absent.
    constexpr std::string_view line = "answered\n";
    if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) return 1;
  }
}

}  // namespace duramen::sqlite::test
