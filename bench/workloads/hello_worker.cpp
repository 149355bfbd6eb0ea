#include "bench/workloads/hello_worker.hpp"

#include "bench/arguments.hpp"
#include "bench/bench_store.hpp"
#include "bench/workloads/greeting.hpp"
#include <duramen/client.hpp>
#include <duramen/runtime.hpp>

#include <cstdio>
#include <signal.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <unistd.h>

namespace bench {

namespace dm = duramen;

namespace {

constexpr std::uint64_t worker_warm_up = 500;

std::vector<std::string> words_for(const std::string& name, std::size_t width, const Limit& limit) {
  return {std::string(hello_worker_word), name, std::to_string(width),
          std::to_string(limit.count.value_or(0)), std::to_string(limit.seconds.value_or(0))};
}

void report(const std::string& line) {
  const std::string whole = line + "\n";
  if (::write(ChildProgram::report_descriptor, whole.data(), whole.size()) < 0) ::_exit(1);
}

void run_instances(dm::Client& client, const std::string& name, std::size_t width, const Limit& limit) {
  {
    InFlight in_flight(client, "Hello", name + "-warm-up", width);
    in_flight.start({worker_warm_up, {}});
    in_flight.wait();
  }
  report("ready");
  char byte = 0;
  if (::read(STDIN_FILENO, &byte, 1) != 1) return;
  InFlight in_flight(client, "Hello", name, width);
  in_flight.start(limit);
  in_flight.wait();
  char text[96];
  std::snprintf(text, sizeof text, "%llu %.6f %.3f", static_cast<unsigned long long>(in_flight.count()),
                in_flight.seconds(), current_rss_mib());
  report(text);
}

}  // namespace

int hello_worker(const std::vector<std::string>& words) {
  if (words.size() != 5) throw BadArguments(std::string(hello_worker_word) + " is not for people");
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGPIPE, SIG_IGN);
  Limit limit;
  if (const auto count = std::stoull(words[3]); count > 0) limit.count = count;
  if (const double seconds = std::stod(words[4]); seconds > 0) limit.seconds = seconds;

  const dm::Store store = open_store(read_secret());
  const dm::Runtime runtime(store, greeting_registry());
  dm::Client client(store);
  run_instances(client, words[1], std::stoul(words[2]), limit);
  return 0;
}

HelloWorker::HelloWorker(const std::string& store, const std::string& name, std::size_t width,
                         const Limit& limit)
    : program_(words_for(name, width, limit), store) {
  if (program_.read_line() != "ready") throw std::runtime_error("the other process did not get ready");
}

HelloWorker::Outcome HelloWorker::wait() {
  Outcome outcome;
  const std::string line = program_.read_line();
  unsigned long long count = 0;
  if (std::sscanf(line.c_str(), "%llu %lf %lf", &count, &outcome.seconds, &outcome.rss_mib) != 3) {
    throw std::runtime_error("the other process reported: " + line);
  }
  outcome.count = count;
  return outcome;
}

}  // namespace bench
