// A worker on a store, until it is killed or asked to end. Compiled twice: with this engine version,
// and with the made-up version 2, which has one more kind of event.
#include "support/child_process.hpp"
#include <duramen/client.hpp>
#include <duramen/runtime.hpp>
#include <duramen/sqlite.hpp>
#ifdef DURAMEN_LEVELS_POSTGRES
#include <duramen/postgres.hpp>
#endif

#include <csignal>
#include <cstring>
#include <string>

namespace duramen::test {
namespace {

using namespace std::chrono_literals;

/// Both builds have the orchestration "marks": it waits for the event "go"; the newer build then writes the
/// kind of event that the older one does not know.
Registry registry() {
  Registry registry;
  registry.add("marks", [](OrchestrationContext& ctx) -> Task<std::string> {
    co_await ctx.schedule_wait<int>("go");
#ifdef DURAMEN_TEST_LEVEL_2
    try {
      ctx.test_mark("x");
    } catch (const DurableError& refused) {
      co_return "refused: " + refused.failure().message;
    }
    co_return "marked";
#else
    co_return "not marked";
#endif
  });
  return registry;
}

/// A SQLite file, or "schema conninfo".
Store open_store(const std::string& address) {
#ifdef DURAMEN_LEVELS_POSTGRES
  if (const std::size_t end = address.find(' '); end != std::string::npos) {
    postgres::Options options;
    options.schema = address.substr(0, end);
    options.conninfo = address.substr(end + 1);
    return postgres::open(options);
  }
#endif
  return sqlite::open(address);
}

/// Arguments: the store, the node, and "raise" to raise the write level.
int run(int argc, char** argv) {
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  sigprocmask(SIG_BLOCK, &end, nullptr);  // in all threads
  RuntimeOptions options;
  options.node = NodeId(argv[2]);
  options.turn_lease = 900ms;
  options.poll_interval = 100ms;
  options.raise_write_level = argc > 3 && std::strcmp(argv[3], "raise") == 0;
  options.log = [](const LogRecord& record) {
    if (record.message.find("upgrade") != std::string_view::npos) report("warned");
  };
  Runtime runtime{open_store(argv[1]), registry(), options};
  report("ready");
  int which = 0;
  sigwait(&end, &which);
  return 0;
}

}  // namespace
}  // namespace duramen::test

int main(int argc, char** argv) { return duramen::test::run(argc, argv); }
