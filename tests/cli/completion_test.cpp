// The completion scripts in real shells on a terminal: some text, then the Tab key.
#include "cli/cli_process.hpp"
#include "support/temp_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace duramen::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string script(const std::string& name) {
  return std::string(DURAMEN_SOURCE_DIR) + "/cli/completion/" + name;
}

/// A shell at its prompt. Ctrl-T prints the edited line, and Ctrl-U empties it.
class Shell {
 public:
  Shell(const std::string& program, std::vector<std::string> arguments, const std::string& preparation)
      : process_(arguments,
                 {.program = program, .environment = {{"PS1", "type here> "}, {"HOME", dir_.file("")}}},
                 100) {
    std::ofstream(dir_.file("orders one.db")) << "x";
    process_.type("cd '" + dir_.file("") + "'; " + preparation + "\n");
    process_.type("echo rea''dy\n");
    // Before its prompt the shell does not read single keys.
    ready_ = process_.wait_for_output("ready") &&
             process_.wait_for_output("type here> ", process_.output().rfind("ready"));
    seen_ = process_.output().size();
  }
  [[nodiscard]] bool ready() const { return ready_; }

  struct Completed {
    std::string line;   ///< the line after completion
    std::string shown;  ///< everything printed meanwhile
  };
  /// Types, presses Tab (bash lists only when it cannot complete any further) and returns the result.
  Completed complete(const std::string& typed, int tabs = 1) {
    process_.type(typed + std::string(static_cast<std::size_t>(tabs), '\t') + "\x14\x15");
    const std::string begin = "LINE=<";
    const std::string end = "=" + std::to_string(++rounds_) + ">END";
    if (!process_.wait_for_output(end)) return {};
    Completed result;
    result.shown = process_.output().substr(seen_);
    seen_ = process_.output().size();
    const std::size_t at = result.shown.find(begin) + begin.size();
    result.line = result.shown.substr(at, result.shown.find(end) - at);
    return result;
  }

 private:
  TempDir dir_;
  CliProcess process_;
  bool ready_ = false;
  std::size_t seen_ = 0;
  int rounds_ = 0;
};

/// The cases for both shells.
void expect_completion(Shell& shell) {
  EXPECT_EQ(shell.complete("duramen doc").line, "duramen doctor ");
  EXPECT_THAT(shell.complete("duramen ex", 3).shown,
              AllOf(HasSubstr("explain"), HasSubstr("export"), Not(HasSubstr("enqueue"))));
  EXPECT_EQ(shell.complete("duramen list --res").line, "duramen list --results ");
  EXPECT_THAT(shell.complete("duramen list --st", 3).shown,
              AllOf(HasSubstr("--status"), HasSubstr("--store")));
  EXPECT_EQ(shell.complete("duramen list --status fa").line, "duramen list --status failed ");
  EXPECT_EQ(shell.complete("duramen list --status failed,pe").line, "duramen list --status failed,pending ");
  EXPECT_EQ(shell.complete("duramen completion z").line, "duramen completion zsh ");
  EXPECT_EQ(shell.complete("duramen --sto").line, "duramen --store ");
  EXPECT_EQ(shell.complete("duramen list --store sq").line, "duramen list --store sqlite:");
  EXPECT_EQ(shell.complete("duramen list --store sqlite:ord").line,
            "duramen list --store sqlite:orders\\ one.db ");
  EXPECT_EQ(shell.complete("duramen --store sqlite:x.db li").line, "duramen --store sqlite:x.db list ");
  EXPECT_EQ(shell.complete("duramen --store postgres://ada@db/shop?sslmode=require li").line,
            "duramen --store postgres://ada@db/shop?sslmode=require list ");
  EXPECT_EQ(shell.complete("duramen import ord").line, "duramen import orders\\ one.db ");
}

TEST(Completion, WorksInBash) {
  Shell shell("/bin/bash", {"--norc", "--noprofile", "-i"},
              "n=0; bind -x '\"\\C-t\": echo \"LINE=<${READLINE_LINE}=$((++n))>END\"'; bind 'set bell-style "
              "none'; source '" +
                  script("duramen.bash") + "'");
  ASSERT_TRUE(shell.ready());
  expect_completion(shell);
}

std::string zsh_preparation(const std::string& load) {
  return "n=0; look() { print -r -- \"LINE=<$BUFFER=$((++n))>END\" }; zle -N look; bindkey -e; bindkey '^T' "
         "look; unsetopt beep; " +
         load;
}

TEST(Completion, WorksInZshFromTheFunctionPath) {
  if (!std::filesystem::exists("/usr/bin/zsh"))
    GTEST_SKIP() << "zsh is not installed; ./dev setup installs it";
  Shell shell("/usr/bin/zsh", {"-f", "-i"},
              zsh_preparation("fpath=('" + std::string(DURAMEN_SOURCE_DIR) +
                              "/cli/completion' $fpath); autoload -U compinit; compinit -u"));
  ASSERT_TRUE(shell.ready());
  expect_completion(shell);
}

TEST(Completion, WorksInZshWhenSourced) {
  if (!std::filesystem::exists("/usr/bin/zsh"))
    GTEST_SKIP() << "zsh is not installed; ./dev setup installs it";
  Shell shell("/usr/bin/zsh", {"-f", "-i"},
              zsh_preparation("autoload -U compinit; compinit -u; source '" + script("_duramen") + "'"));
  ASSERT_TRUE(shell.ready());
  expect_completion(shell);
}

}  // namespace
}  // namespace duramen::test
