// Activities that are commands of their own.
#include <duramen/process.hpp>

#include "runtime/world.hpp"
#include "support/temp_dir.hpp"

#include <csignal>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace duramen::test {
namespace {

class Process : public ::testing::Test {
 protected:
  Process() {
    world.registry.add("run", [](OrchestrationContext& ctx, std::string input) -> Task<std::string> {
      auto result = co_await ctx.schedule_activity<std::string>("Command", input).as_result();
      co_return result ? *result : result.error().type + ": " + result.error().message;
    });
  }
  std::string run(ProcessActivity command, std::string input = "") {
    world.registry.add("Command", std::move(command));
    world.run(options);
    return world.finish("i", "run", input).output_as<std::string>();
  }
  /// Starts it, and waits until the command reports that it runs.
  void begin(ProcessActivity command) {
    world.registry.add("Command", std::move(command));
    world.run(options);
    world.client.start("i", "run", "").value();
    wait_for(ready);
  }
  static void wait_for(const std::string& file) {
    while (::access(file.c_str(), F_OK) != 0) std::this_thread::sleep_for(1ms);
  }
  static bool alive(pid_t pid) { return ::kill(pid, 0) == 0; }
  static pid_t pid_in(const std::string& file) {
    pid_t pid = 0;
    while (pid == 0) std::ifstream(file) >> pid;
    return pid;
  }
  TempDir dir;
  std::string ready = dir.file("ready");
  RuntimeOptions options;
  World world;
};

ProcessActivity shell(const std::string& script) { return ProcessActivity({"sh", "-c", script}); }

TEST_F(Process, ReadsItsInputAndWritesItsResult) {
  EXPECT_EQ(run(ProcessActivity({"tr", "a-z", "A-Z"}), "hello"), "HELLO");
}

TEST_F(Process, TakesAndGivesMoreThanAPipeHolds) {
  const std::string big(1'000'000, 'x');
  EXPECT_EQ(run(ProcessActivity({"cat"}), big), big);
}

TEST_F(Process, NeedNotReadItsInput) {
  EXPECT_EQ(run(shell("echo done"), std::string(1'000'000, 'x')), "done");
}

TEST_F(Process, StartsWhileAnotherThreadAllocates) {
  const std::jthread busy([](const std::stop_token& stop) {
    // Too large for a thread's own cache: the lock of the allocator is held much of the time.
    while (!stop.stop_requested()) std::vector<std::string>(64, std::string(8192, 'x')).clear();
  });
  world.registry.add("Command", shell("echo done"));
  world.run(options);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(world.finish("i" + std::to_string(i), "run", "").output_as<std::string>(), "done");
  }
}

TEST_F(Process, KnowsItsInstanceAndActivity) {
  EXPECT_EQ(run(shell("echo $DURAMEN_INSTANCE $DURAMEN_ACTIVITY $DURAMEN_ATTEMPT $EXTRA")
                    .environment("EXTRA", "more")),
            "i Command 1 more");
}

TEST_F(Process, RunsInItsDirectory) { EXPECT_EQ(run(ProcessActivity({"pwd"}).directory("/usr")), "/usr"); }

TEST_F(Process, AFailureNamesTheExitStatus) {
  EXPECT_EQ(run(shell("exit 3")), "ProcessFailed: sh ended with status 3");
}

TEST_F(Process, AFailureNamesTheSignalThatEndedIt) {
  EXPECT_EQ(run(shell("kill -9 $$")), "ProcessFailed: sh was ended by signal 9 (Killed)");
}

TEST_F(Process, AMissingProgramIsAFailureThatNamesIt) {
  EXPECT_EQ(run(ProcessActivity({"no-such-program"})),
            "ProcessNotStarted: no-such-program could not be started: No such file or directory");
}

TEST_F(Process, IsEndedWhenItWritesTooMuch) {
  EXPECT_EQ(
      run(ProcessActivity({"yes"}).max_output(1000)),
      "ProcessOutputTooLarge: yes wrote more than 1000 bytes; let it write to a file and return the name");
}

TEST_F(Process, LogsItsStandardError) {
  Signal<std::string> line;
  options.log = [&](const LogRecord& record) {
    if (record.source == LogSource::activity) line.set(std::string(record.message));
  };
  EXPECT_EQ(run(shell("echo careful >&2; echo fine")), "fine");
  EXPECT_EQ(line.wait(), "careful");
}

TEST_F(Process, IsAskedToEndWhenItIsCancelled) {
  begin(shell("trap 'echo term > " + dir.file("got") + "; exit 0' TERM; touch " + ready +
              "; while :; do sleep 0.01; done")
            .kill_after(std::chrono::hours::max()));
  world.client.cancel("i", "enough").value();
  EXPECT_EQ(world.client.wait("i", forever).value().status, Status::cancelled);
  wait_for(dir.file("got"));
}

TEST_F(Process, IsKilledWithItsChildrenWhenItDoesNotEnd) {
  begin(shell("trap '' TERM; sleep 1000 & echo $! > " + dir.file("child") + "; echo $$ > " +
              dir.file("self") + "; touch " + ready + "; while :; do sleep 0.01; done")
            .kill_after(50ms));
  const pid_t self = pid_in(dir.file("self"));
  const pid_t child = pid_in(dir.file("child"));
  world.client.cancel("i", "enough").value();
  world.client.wait("i", forever).value();
  while (alive(self) || alive(child)) std::this_thread::sleep_for(1ms);
}

TEST_F(Process, EndsTheChildrenItLeftRunning) {
  run(shell("sleep 1000 > /dev/null 2>&1 < /dev/null & echo $! > " + dir.file("child")));
  const pid_t child = pid_in(dir.file("child"));
  while (alive(child)) std::this_thread::sleep_for(1ms);
}

TEST_F(Process, DiesWithTheRuntimesProcess) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the thread sanitizer allows no threads after a fork";
#endif
#endif
  const pid_t host = ::fork();
  if (host == 0) {
    World there;
    there.registry.add("Command",
                       shell("echo $$ > " + dir.file("self") + "; touch " + ready + "; sleep 1000"));
    there.registry.add("run", [](OrchestrationContext& ctx) -> Task<std::string> {
      co_return co_await ctx.schedule_activity<std::string>("Command", "");
    });
    there.run();
    there.client.start("i", "run").value();
    while (true) ::pause();
  }
  wait_for(ready);
  const pid_t command = pid_in(dir.file("self"));
  ::kill(host, SIGKILL);
  ::waitpid(host, nullptr, 0);
  while (alive(command)) std::this_thread::sleep_for(1ms);
}

TEST_F(Process, WorksInAHostThatHasClosedItsStandardStreams) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the thread sanitizer allows no threads after a fork";
#endif
#endif
  const pid_t host = ::fork();
  if (host == 0) {
    ::alarm(20);  // only so that a broken one ends
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(stream);
    World there;
    there.registry.add("Upper", shell("tr a-z A-Z; echo careful >&2"));
    there.registry.add("Missing", ProcessActivity({"no-such-program"}));
    there.registry.add("run", [](OrchestrationContext& ctx) -> Task<std::string> {
      auto upper = co_await ctx.schedule_activity<std::string>("Upper", "hello").as_result();
      auto missing = co_await ctx.schedule_activity<std::string>("Missing", "").as_result();
      co_return (upper ? *upper : upper.error().message) + ", " + missing.error().type;
    });
    there.run();
    std::ofstream(dir.file("result")) << there.finish("i", "run", 0).output_as<std::string>();
    ::_exit(0);
  }
  ::waitpid(host, nullptr, 0);
  std::string result;
  std::getline(std::ifstream(dir.file("result")), result);
  EXPECT_EQ(result, "HELLO, ProcessNotStarted");
}

}  // namespace
}  // namespace duramen::test
