// Four processes on one file. Each starts instances and runs those of the others.
#include "providers/sqlite/durability/scale.hpp"
#include "providers/sqlite/durability/store_content.hpp"
#include "providers/sqlite/durability/tasks.hpp"
#include "providers/sqlite/fixture.hpp"
#include "support/child_process.hpp"
#include <duramen/client.hpp>
#include <duramen/runtime.hpp>

#include <deque>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <set>
#include <unistd.h>

namespace duramen::sqlite::test {

namespace {

constexpr int steps = 3;

/// One file for all processes: the begin and end of every activity with its process, in order.
class Journal {
 public:
  explicit Journal(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600)) {}
  ~Journal() { ::close(file_); }
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  void write(const std::string& line) {
    const std::string whole = line + "\n";
    if (::write(file_, whole.data(), whole.size()) < 0) std::abort();
  }

 private:
  int file_;
};

Registry make_registry(Journal& journal) {
  Registry registry;
  registry.add("walk", [](OrchestrationContext& ctx, int) -> Task<int> {
    int value = 0;
    while (value < steps) value = co_await ctx.schedule_activity<int>("Step", value);
    co_return value;
  });
  registry.add("Step", [&journal](ActivityContext& ctx, int value) {
    const std::string who = ctx.idempotency_key() + " " + std::to_string(::getpid());
    journal.write("begin " + who);
    journal.write("end " + who);
    return value + 1;
  });
  return registry;
}

/// The attempts of one activity in the journal: their number, and whether two ran at once.
struct Attempts {
  int begun = 0;
  bool running = false;
  bool at_once = false;
};

std::map<std::string, Attempts> read_journal(const std::string& path) {
  std::map<std::string, Attempts> activities;
  std::ifstream file{path};
  std::string what, key, pid;
  while (file >> what >> key >> pid) {
    Attempts& attempts = activities[key];
    if (what == "begin") {
      if (attempts.running) attempts.at_once = true;
      attempts.running = true;
      ++attempts.begun;
    } else {
      attempts.running = false;
    }
  }
  return activities;
}

TEST(FourProcesses, ShareOneFileAndEveryInstanceEndsOnce) {
  const std::size_t seconds = amount("DURAMEN_SHARED_SECONDS", 30, 5);
  const TempDir dir;
  const std::string path = dir.file("shared.db");
  const std::string journal = dir.file("journal");
  std::set<std::string> started;
  {
    std::deque<ChildProcess> processes;
    for (const char* name : {"a", "b", "c", "d"}) {
      processes.emplace_back(
          std::vector<std::string>{"--task", "run-instances", path, journal, name, std::to_string(seconds)});
    }
    for (auto& process : processes) {
      std::string line = process.read_line();
      for (; line.starts_with("started "); line = process.read_line()) started.insert(line.substr(8));
      EXPECT_EQ(line, "done");
    }
  }
  EXPECT_FALSE(started.empty());
  EXPECT_EQ(find_contradiction(path), "");
  EXPECT_EQ(open_instances(path), std::vector<std::string>{});

  const auto provider = open_at(path);
  EXPECT_EQ(RawConnection{path}.text("SELECT count(*) FROM duramen_instances"),
            std::to_string(started.size()));
  for (const std::string& instance : started) {
    int ends = 0;
    std::map<EventId, int> completions;
    for (const Event& event : provider->read_history(instance, ExecutionId{1}, {}).value()) {
      if (event_class(event) == EventClass::terminal) ++ends;
      if (std::holds_alternative<event::ActivityCompleted>(event.body)) ++completions[event.source];
    }
    ASSERT_EQ(ends, 1) << instance;
    ASSERT_EQ(completions.size(), static_cast<std::size_t>(steps)) << instance;
    for (const auto& [activity, count] : completions) ASSERT_EQ(count, 1) << instance;
  }

  const auto activities = read_journal(journal);
  EXPECT_EQ(activities.size(), started.size() * steps);
  for (const auto& [key, attempts] : activities) {
    ASSERT_FALSE(attempts.at_once) << key;
    ASSERT_GE(attempts.begun, 1) << key;
  }
  std::printf("%zu instances in %zu s\n", started.size(), seconds);
}

}  // namespace

int run_instances(const Arguments& arguments) {
  const std::string& path = arguments.at(0);
  Journal journal{arguments.at(1)};
  const std::string& name = arguments.at(2);
  const Store store = open(path);
  // A start through a second store reaches no runtime of this process directly: the first process to fetch it
  // takes it.
  const Store outside = open(path);
  Runtime runtime{store, make_registry(journal)};
  Client here{store};
  Client elsewhere{outside};
  constexpr int in_flight = 20;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{std::stol(arguments.at(3))};
  // Reported at the end: a full pipe would slow us down.
  std::vector<std::string> started;
  for (int batch = 0; std::chrono::steady_clock::now() < until; ++batch) {
    std::vector<std::string> names;
    for (int i = 0; i < in_flight; ++i) {
      names.push_back(name + "-" + std::to_string(batch) + "-" + std::to_string(i));
      Client& client = i % 2 == 0 ? here : elsewhere;
      client.start(names.back(), "walk", i).value();
      started.push_back(names.back());
    }
    for (const std::string& instance : names) {
      if (here.wait(instance, 60s).value().status != Status::completed) return 2;
    }
  }
  for (const std::string& instance : started) std::printf("started %s\n", instance.c_str());
  std::printf("done\n");
  return 0;
}

}  // namespace duramen::sqlite::test
