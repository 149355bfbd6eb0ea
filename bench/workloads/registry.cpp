#include "bench/workload.hpp"

#include <algorithm>
#include <stdexcept>

namespace bench {

const std::vector<Workload>& all_workloads() {
  static const std::vector<Workload> workloads{
      {"hello", "start, one activity, done; `width` in flight at all times (default 20 and 1000)", false,
       run_hello},
      {"chain", "50 activities one after the other, one instance at a time; all figures are per step", false,
       run_chain},
      {"latency", "hello, one at a time", false, run_latency},
      {"fanout", "start, five activities at once, done (default width 20 and 1000)", false, run_fanout},
      {"long", "one orchestration with 10000 steps (`count`): what a step costs at the end and at the beginning", true,
       run_long},
      {"timers", "100000 instances (`count`) wait for a moment each, 10000 of them in a second; how late they wake",
       false, run_timers},
      {"events", "one orchestration takes 100000 messages from its queue; 10000 orchestrations get an event each", false,
       run_events},
      {"processes", "hello in one process, and in two on one file (default width 20)", true, run_processes},
      {"resident", "memory and disk after 100000 hellos (`count`)", true, run_resident},
      {"cancel", "from client.cancel() to the stop in the activity; idle, and beside hello at width 20",
       false, run_cancel},
      {"cancel2", "the same, with the activity in another process", true, run_cancel2},
      {"masscancel",
       "one orchestration with 10000 activities (`count`) is cancelled: all of them running, or a tenth", false,
       run_masscancel},
      {"idle", "what a runtime asks of its store, and of the CPU, beside 10000 waiting instances (`count`)", false,
       run_idle},
      {"waiting", "1000000 instances (`count`) that wait for a timer: how much memory they take", true, run_waiting},
      {"store",
       "turns, ends of activities and renewals, by one thread straight to the store; `width` is the batch "
       "(default 1, 10, 100, 1000)",
       false, run_store},
      {"growth",
       "a fetch, a commit and a cancel beside 1000 and 1000000 finished instances (`count`: instead of the latter)",
       true, run_growth},
      {"fairness", "how long a writer of one row waits beside a process that commits batches of `width` all the time",
       true, run_fairness},
      {"replay",
       "the engine without a store: replay, completions, join and select, memory; `width` is how many things "
       "(default 1000, 10000, 100000)",
       false, run_replay},
  };
  return workloads;
}

const Workload& find_workload(const std::string& name) {
  const auto found = std::ranges::find(all_workloads(), name, &Workload::name);
  if (found == all_workloads().end()) throw std::logic_error("no workload " + name);
  return *found;
}

}  // namespace bench
