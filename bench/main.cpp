// duramen_bench: rate, latency and cost, compared with the raw store. See --help and README.md.

#include "bench/arguments.hpp"
#include "bench/bench_store.hpp"
#include "bench/machine.hpp"
#include "bench/report.hpp"
#include "bench/scene.hpp"
#include "bench/workload.hpp"
#include "bench/workloads/cancel_worker.hpp"
#include "bench/workloads/hello_worker.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace bench {

void Scene::progress(const std::string& text) const {
  std::fprintf(stderr, "duramen_bench: %s\n", text.c_str());
}

void Scene::judge_at_most(const std::string& what, double value, double bar) const {
  char text[96];
  std::snprintf(text, sizeof text, "%.3g, %s %.3g", value, value <= bar ? "within" : "MORE THAN", bar);
  progress(what + ": " + text);
}

void Scene::judge_at_least(const std::string& what, double value, double bar) const {
  char text[96];
  std::snprintf(text, sizeof text, "%.3g, %s %.3g", value, value >= bar ? "at least" : "LESS THAN", bar);
  progress(what + ": " + text);
}

namespace {

/// Next to the program: a temporary directory is often not on a disk.
std::filesystem::path default_directory() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error && ::access(program.parent_path().c_str(), W_OK) == 0) return program.parent_path();
  return std::filesystem::temp_directory_path();
}

int run_workloads(const Arguments& arguments) {
  const auto parent = arguments.directory.empty() ? default_directory() : arguments.directory;
  if (!std::filesystem::is_directory(parent))
    throw BadArguments("--dir: no directory '" + parent.string() + "'");
  const ScratchDirectory directory(parent);
  const std::string file_system = file_system_of(directory.path());
  const std::unique_ptr<StoreSource> stores = make_store_source(arguments, directory.path());
  std::string machine = describe_machine(directory.path());
  if (!stores->server().empty()) machine += ", " + stores->server();
  Report report(arguments.json, built_commit(), machine);
  Scene scene{arguments, directory.path(), report, *stores};
  if (stores->on_this_disk() && (file_system == "tmpfs" || file_system == "ramfs")) {
    scene.progress("warning: " + parent.string() + " is a " + file_system +
                   ", where syncing is free; name a directory on a disk with --dir");
  }
  for (const std::string& name : arguments.left_out)
    scene.progress(name + " does not run on " + arguments.store);
  for (const std::string& name : arguments.workloads) find_workload(name).run(scene);
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (!words.empty() && words.front() == bench::cancel_worker_word) return bench::cancel_worker(words);
    if (!words.empty() && words.front() == bench::hello_worker_word) return bench::hello_worker(words);
    const bench::Arguments arguments = bench::parse_arguments(words);
    if (arguments.help) {
      std::fputs(bench::help_text().c_str(), stdout);
      return 0;
    }
    return bench::run_workloads(arguments);
  } catch (const bench::BadArguments& error) {
    std::fprintf(stderr, "duramen_bench: %s\nduramen_bench: try --help\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "duramen_bench: %s\n", error.what());
    return 1;
  }
}
