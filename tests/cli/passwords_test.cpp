// No command shows the password in the address of its store: not when it works, not when it fails.
#include "cli/known_store.hpp"

namespace duramen::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string known = std::string(DURAMEN_MODULES) + "/known.so";

/// Every command that opens a store, in the order in which a story makes sense.
std::vector<std::vector<std::string>> commands() {
  return {{"list", "--results"},
          {"show", "waits"},
          {"history", "waits"},
          {"tree", "family"},
          {"explain", "waits"},
          {"kv", "ticker"},
          {"start", "Nobody", "--id", "another"},
          {"wait", "order-1"},
          {"raise", "waits", "other"},
          {"enqueue", "waits", "jobs"},
          {"stats"},
          {"top", "--rounds", "1"},
          {"doctor"},
          {"export", "--all"},
          {"import", "/dev/null"},
          {"replay", known},
          {"prune", "--all", "--keep-last", "9", "--yes"},
          {"cancel", "waits"},
          {"delete", "order-2", "--yes"}};
}

void expect_silent(const CliResult& result) {
  EXPECT_THAT(result.out, Not(HasSubstr("hunter")));
  EXPECT_THAT(result.err, Not(HasSubstr("hunter")));
}

class Passwords : public OnKnownStore {
 protected:
  Passwords() : OnKnownStore(StoreKind::postgres) {}
  /// Leads to the store: the server asks for no password.
  [[nodiscard]] std::string address() const {
    std::string text = place->address();
    text.insert(text.find(":///") + 3, "postgres:hunt%40er@");
    return text + "&password=hunter2&%70assword=hunter3";
  }
  CliResult with_password(std::vector<std::string> arguments, int columns = 0) const {
    arguments.insert(arguments.end(), {"--store", address()});
    return CliProcess(arguments, {}, columns).finish();
  }
};

TEST_F(Passwords, AreShownByNoCommandThatWorks) {
  for (const std::vector<std::string>& command : commands()) {
    SCOPED_TRACE(command.front());
    const CliResult result = with_password(command);
    EXPECT_LE(result.exit, 1) << result.err;
    expect_silent(result);
  }
  const CliResult top = with_password({"top", "--rounds", "1"}, 200);
  expect_silent(top);
  EXPECT_THAT(top.out, AllOf(HasSubstr("postgres:***@"), HasSubstr("password=***")));
}

TEST_F(Passwords, AreNotShownByANodeThatServes) {
  for (const bool json : {false, true}) {
    std::vector<std::string> arguments{"run", known, "--node", "n", "--log", "debug", "--store", address()};
    if (json) arguments.emplace_back("--json");
    CliProcess server(arguments);
    ASSERT_TRUE(server.wait_for_output("serv"));
    server.signal(SIGTERM);
    const CliResult result = server.finish();
    expect_silent(result);
    EXPECT_THAT(result.out, HasSubstr("postgres:***@"));
  }
}

TEST(PasswordsInErrors, AreShownByNoCommandThatFails) {
  const auto fails_silently = [](std::vector<std::string> command, const std::string& address) {
    SCOPED_TRACE(command.front() + " " + address);
    command.insert(command.end(), {"--store", address});
    const CliResult result = duramen(command);
    EXPECT_TRUE(result.exit == 2 || result.exit == 4) << result.exit;
    EXPECT_THAT(result.err, HasSubstr("duramen: "));
    expect_silent(result);
  };
  for (const std::vector<std::string>& command : commands())
    fails_silently(command, "host=h password=hunter2");
  fails_silently({"run", known}, "host=h password=hunter2");
  for (const char* address :
       {"Postgres://u:hunter2@h/db", "pg://u:hunter2@h/db?password=hunter3",
        "postgres://u:hunter2@127.0.0.1:1/db?password=hunter3", "postgres://u:x@hunter2@127.0.0.1:1/db",
        "postgres://u:1/hunter2@127.0.0.1:1/db", "postgres://u:hunter2/db",
        "postgres://u:hunter2@h/db?schema="}) {
    fails_silently({"list"}, address);
    expect_silent(duramen({"list", std::string("--stoer=") + address}));
  }
  for (const char* mistyped : {"postgres//u:hunter2@h/db", "u:hunter2@h"}) fails_silently({"list"}, mistyped);
}

}  // namespace
}  // namespace duramen::test
