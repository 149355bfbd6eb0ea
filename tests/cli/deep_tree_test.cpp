// The deepest tree that the limit allows: every command can show and move it.
#include "cli/known_store.hpp"
#include <duramen/client.hpp>
#include <duramen/limits.hpp>
#include <duramen/runtime.hpp>

#include <algorithm>

namespace duramen::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

Task<int> deepen(OrchestrationContext& ctx, int level) {
  if (level == static_cast<int>(default_max_depth)) co_return co_await ctx.schedule_wait<int>("go");
  co_return co_await ctx.schedule_sub_orchestration<int>("Deepen", level + 1);
}

std::size_t lines_of(const CliResult& result) {
  return static_cast<std::size_t>(std::ranges::count(result.out, '\n'));
}

class DeepTree : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    if (place == nullptr) GTEST_SKIP() << why_not;
  }
  CliResult run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--store", place->address()});
    return duramen(arguments);
  }
  CliResult elsewhere(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--store", "sqlite:" + dir.file("other.db")});
    return duramen(arguments);
  }
  std::string why_not;
  TempDir dir;
  std::unique_ptr<StorePlace> place = make_place(GetParam(), dir, why_not);
};

TEST_P(DeepTree, IsShownCancelledExportedAndImported) {
  const Store store = place->open();
  Client client{store};
  Registry registry;
  registry.add("Deepen", deepen);
  Runtime runtime{store, registry, {.activity_threads = 1, .log = [](const LogRecord&) {}}};
  const std::size_t all = default_max_depth + 1;
  const auto is_whole = [&] {
    const auto tree = client.get_instance_tree("top").value();
    return tree.size() == all && tree.back().status == Status::running;
  };
  client.start("top", "Deepen", 0).value();
  while (!is_whole()) {
  }
  const InstanceId deepest = client.get_instance_tree("top").value().back().instance;
  EXPECT_LE(deepest.value.size(), 200u);
  const CliResult tree = run({"tree", "top"});
  EXPECT_EQ(tree.exit, 0) << tree.err;
  EXPECT_EQ(lines_of(tree), all + 1) << "a line for each instance, and a title";
  EXPECT_THAT(tree.out, HasSubstr(deepest.value));
  EXPECT_EQ(run({"explain", "top"}).exit, 0);
  const CliResult explained = run({"explain", deepest.value});
  EXPECT_EQ(explained.exit, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr("event 'go'"));
  EXPECT_EQ(run({"doctor"}).exit, 0) << run({"doctor"}).out;

  EXPECT_EQ(run({"cancel", "top", "--reason", "enough"}).exit, 0);
  while (!std::ranges::all_of(client.get_instance_tree("top").value(),
                              [](const InstanceInfo& info) { return info.status == Status::cancelled; })) {
  }
  const CliResult exported = run({"export", "--all", "-o", dir.file("tree.jsonl")});
  EXPECT_EQ(exported.exit, 0) << exported.err;
  const CliResult imported = elsewhere({"import", dir.file("tree.jsonl"), "--create"});
  EXPECT_EQ(imported.exit, 0) << imported.out << imported.err;
  EXPECT_THAT(imported.out, HasSubstr("imported " + std::to_string(all) + " instances"));
  EXPECT_EQ(lines_of(elsewhere({"tree", "top"})), all + 1);
  EXPECT_EQ(elsewhere({"show", deepest.value}).exit, 0);
}

INSTANTIATE_TEST_SUITE_P(Store, DeepTree, ::testing::ValuesIn(store_kinds()),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace duramen::test
