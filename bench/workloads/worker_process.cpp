#include "bench/workloads/worker_process.hpp"

#include "bench/workloads/cancel_worker.hpp"

namespace bench {

namespace {

std::vector<std::string> worker_words(bool turns) {
  std::vector<std::string> words{std::string(cancel_worker_word),
                                 std::to_string(ChildProgram::report_descriptor)};
  if (turns) words.emplace_back("turns");
  return words;
}

}  // namespace

WorkerProcess::WorkerProcess(const std::string& store, bool turns) : program_(worker_words(turns), store) {}

void WorkerProcess::await_running(const std::string& instance) { (void)await("running", instance); }

Instant WorkerProcess::await_stopped(const std::string& instance) {
  return from_nanoseconds(std::stoll(await("stopped", instance)));
}

std::string WorkerProcess::await(const std::string& word, const std::string& instance) {
  const std::string wanted = word + " " + instance;
  while (true) {
    const std::string line = program_.read_line();
    if (line == wanted) return "";
    if (line.starts_with(wanted + " ")) return line.substr(wanted.size() + 1);
  }
}

}  // namespace bench
