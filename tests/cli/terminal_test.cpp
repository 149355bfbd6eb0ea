// On a terminal: tables fit, colours follow the settings, and destructive commands ask first.
#include "cli/known_store.hpp"

#include <algorithm>
#include <sstream>

namespace duramen::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The longest line in characters, without control sequences.
std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) {
    std::size_t width = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\x1b') {
        while (i < line.size() && std::isalpha(static_cast<unsigned char>(line[i])) == 0) ++i;
      } else if (line[i] != '\r' && (static_cast<unsigned char>(line[i]) & 0xC0u) != 0x80u) {
        ++width;
      }
    }
    widest = std::max(widest, width);
  }
  return widest;
}

class OnATerminal : public KnownStore {
 protected:
  void SetUp() override {
    KnownStore::SetUp();
    if (IsSkipped()) return;
    const std::string id =
        "an-instance-with-a-name-that-is-much-longer-than-any-column-of-a-table-should-ever-be";
    EXPECT_EQ(
        run({"start", "AnOrchestrationWithALongName", "--id", id, "--text", std::string(300, 'y')}).exit, 0);
  }
  CliResult on_terminal(const std::vector<std::string>& arguments, int columns,
                        const CliSetting& setting = {}) const {
    return duramen_on_terminal(on_store(arguments), columns, setting);
  }
};

TEST_P(OnATerminal, TablesFitInto80AndInto200Columns) {
  const std::vector<std::vector<std::string>> commands{
      {"list"},   {"list", "--results"}, {"tree", "family"}, {"history", "ticker", "--all"}, {"stats"},
      {"doctor"}, {"kv", "ticker"}};
  for (const auto& command : commands) {
    SCOPED_TRACE(command.front());
    EXPECT_LE(widest(on_terminal(command, 80).out), 80u) << on_terminal(command, 80).out;
    EXPECT_LE(widest(on_terminal(command, 200).out), 200u);
  }
  EXPECT_THAT(on_terminal({"list"}, 80).out, AllOf(HasSubstr("…"), Not(HasSubstr("CREATED"))));
  EXPECT_THAT(on_terminal({"list"}, 200).out, AllOf(HasSubstr("should-ever-be"), HasSubstr("CREATED")));
}

TEST_P(OnATerminal, APipeGetsEverythingInFull) {
  EXPECT_THAT(run({"list"}).out, AllOf(HasSubstr("should-ever-be"), Not(HasSubstr("…"))));
  EXPECT_LE(widest(run({"list"}, {.environment = {{"COLUMNS", "80"}}}).out), 80u);
}

TEST_P(OnATerminal, ColoursAreForTerminalsThatWantThem) {
  EXPECT_THAT(on_terminal({"list"}, 100).out, HasSubstr("\x1b[31mFailed"));
  EXPECT_THAT(on_terminal({"list"}, 100, {.environment = {{"NO_COLOR", "1"}}}).out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(on_terminal({"list"}, 100, {.environment = {{"TERM", "dumb"}}}).out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(on_terminal({"list", "--color", "never"}, 100).out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(run({"list", "--color", "always"}).out, HasSubstr("\x1b[31mFailed"));
}

TEST_P(OnATerminal, StoredTextCannotSteerTheTerminal) {
  ASSERT_EQ(run({"start", "X", "--id", "evil-\x1b[2J\n\u202e"}).exit, 0);
  const std::string out = run({"list"}).out;
  EXPECT_THAT(out,
              AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\u202e")), HasSubstr("evil-\uFFFD[2J\\n\uFFFD")));
  EXPECT_EQ(json({"list", "--prefix", "evil"})["instances"][0]["instance_id"], "evil-\x1b[2J\n\u202e");
}

TEST_P(OnATerminal, DestructiveCommandsAskAndAcceptNo) {
  const CliResult no = on_terminal({"delete", "order-1"}, 80, {.input = "n\n"});
  EXPECT_EQ(no.exit, 1);
  EXPECT_THAT(no.out, AllOf(HasSubstr("Delete 1 instance with all below them (order-1)? [y/N]"),
                            HasSubstr("nothing was changed")));
  EXPECT_EQ(run({"show", "order-1"}).exit, 0);
  const CliResult nothing = on_terminal({"cancel", "--all"}, 80, {.input = "\n"});
  EXPECT_EQ(nothing.exit, 1);
  const CliResult yes = on_terminal({"delete", "order-1"}, 80, {.input = "y\n"});
  EXPECT_EQ(yes.exit, 0);
  EXPECT_EQ(run({"show", "order-1"}).exit, 3);
}

TEST_P(OnATerminal, TopDrawsAScreen) {
  const CliResult result = on_terminal({"top", "--rounds", "2", "--interval", "1ms"}, 100);
  EXPECT_EQ(result.exit, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("\x1b[H\x1b[2J"), HasSubstr("OPEN"), HasSubstr("Activities due")));
  EXPECT_LE(widest(on_terminal({"top", "--rounds", "1"}, 80).out), 80u);
}

DURAMEN_ON_EVERY_STORE(OnATerminal);

}  // namespace
}  // namespace duramen::test
