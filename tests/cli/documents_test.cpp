// The reference page, the man page and the completion scripts name exactly the commands and options of the
// program.
#include "cli/cli_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace duramen::test {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(std::string(DURAMEN_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The long options in a text.
std::set<std::string> options_in(const std::string& text) {
  std::set<std::string> found;
  for (std::size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at + 2)) {
    if (at > 0 && (text[at - 1] == '-' || std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0))
      continue;
    std::size_t end = at + 2;
    while (end < text.size() &&
           (std::islower(static_cast<unsigned char>(text[end])) != 0 || text[end] == '-'))
      ++end;
    std::string option = text.substr(at, end - at);
    while (option.ends_with('-')) option.pop_back();
    if (option.size() > 2) found.insert(option);
  }
  return found;
}

std::vector<std::string> commands() {
  const std::string help = duramen({"--help"}).out;
  std::istringstream lines(help.substr(help.find("Subcommands:")));
  std::string line;
  std::getline(lines, line);
  std::vector<std::string> names;
  while (std::getline(lines, line) && line.starts_with("  "))
    names.push_back(line.substr(2, line.find(' ', 2) - 2));
  return names;
}

/// The help of a command up to the line on the options of all commands.
std::set<std::string> own_options(const std::string& command) {
  const std::string help = duramen({command, "--help"}).out;
  const std::size_t options = help.find("Options:");
  // Only the first column: descriptions may mention others.
  std::istringstream lines(help.substr(options, help.find("Every command also takes") - options));
  std::set<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  -")) continue;
    for (const std::string& option : options_in(line.substr(0, line.find("  ", 2)))) found.insert(option);
  }
  found.erase("--help");
  return found;
}

/// Text between a line that is `heading` and the next that begins like a heading.
std::string section(const std::string& text, const std::string& heading, const std::string& next) {
  const std::size_t begin = text.find("\n" + heading + "\n");
  EXPECT_NE(begin, std::string::npos) << heading;
  if (begin == std::string::npos) return {};
  const std::size_t end = text.find("\n" + next, begin + heading.size() + 1);
  return text.substr(begin, end == std::string::npos ? end : end - begin);
}

TEST(Documents, EveryRequiredCommandExists) {
  EXPECT_THAT(commands(), ::testing::UnorderedElementsAre(
                              "list", "show", "history", "tree", "explain", "start", "wait", "cancel",
                              "raise", "enqueue", "kv", "delete", "prune", "stats", "nodes", "top", "doctor",
                              "upgrade", "export", "import", "replay", "run", "version", "completion"));
}

TEST(Documents, HelpFitsInto80Columns) {
  std::vector<std::string> all = commands();
  all.emplace_back("--help");
  for (const std::string& command : all) {
    std::istringstream lines(duramen({command, "--help"}).out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(Documents, TheReferencePageHasEveryCommandWithItsOptions) {
  const std::string page = read("docs/reference/cli.md");
  for (const std::string& command : commands()) {
    SCOPED_TRACE(command);
    const std::string text = section(page, "### duramen " + command, "##");
    // Options are documented in tables or lists as `--option`; other text only mentions them.
    std::set<std::string> documented;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("| `-")) continue;
      for (const std::string& option : options_in(line.substr(0, line.find('|', 2))))
        documented.insert(option);
    }
    std::set<std::string> expected = own_options(command);
    if (text.find("[which instances](#which-instances)") != std::string::npos) {
      for (const char* shared : {"--status", "--name", "--version", "--prefix", "--parent", "--roots",
                                 "--since", "--before", "--ended-before"}) {
        EXPECT_TRUE(expected.erase(shared) == 1) << shared;
      }
    }
    EXPECT_EQ(documented, expected);
  }
}

TEST(Documents, TheManPageHasEveryCommandWithItsOptions) {
  std::string page = read("cli/man/duramen.1");
  for (std::size_t at = page.find("\\-"); at != std::string::npos; at = page.find("\\-", at))
    page.erase(at, 1);
  for (const std::string& command : commands()) {
    SCOPED_TRACE(command);
    const std::string text = section(page, ".SS " + command, ".S");
    std::set<std::string> expected = own_options(command);
    std::set<std::string> documented = options_in(text);
    if (text.find("\n.B FILTER") != std::string::npos || text.find("FILTER") != std::string::npos) {
      for (const std::string& option : options_in(section(page, ".SS FILTER", ".S")))
        documented.insert(option);
    }
    EXPECT_EQ(documented, expected);
  }
}

TEST(Documents, TheCompletionScriptsKnowEveryCommandAndItsOptions) {
  for (const char* shell : {"bash", "zsh"}) {
    SCOPED_TRACE(shell);
    const std::string script = duramen({"completion", shell}).out;
    EXPECT_EQ(script,
              read(std::string(shell) == "bash" ? "cli/completion/duramen.bash" : "cli/completion/_duramen"));
    for (const std::string& command : commands()) {
      // One line per command: `    list) options="--status ..." ;;`
      const std::string begin = "\n    " + command + ") options=\"";
      const std::size_t at = script.find(begin);
      ASSERT_NE(at, std::string::npos) << command;
      const std::size_t end = script.find('"', at + begin.size());
      EXPECT_EQ(options_in(script.substr(at, end - at)), own_options(command)) << command;
    }
  }
}

TEST(Documents, EveryExitCodeIsDocumented) {
  const std::string page = read("docs/reference/cli.md");
  for (const char* code : {"| 0 |", "| 1 |", "| 2 |", "| 3 |", "| 4 |", "| 5 |", "| 141 |"}) {
    EXPECT_NE(page.find(code), std::string::npos) << code;
  }
}

}  // namespace
}  // namespace duramen::test
