#include "bench/workload.hpp"

#include <algorithm>
#include <stdexcept>

namespace bench {

namespace {

constexpr OtherStores everywhere{.memory = true, .postgres = true};
constexpr OtherStores where_kept{.memory = false, .postgres = true};
constexpr OtherStores without_server{.memory = true, .postgres = false};
constexpr OtherStores on_sqlite{};

}  // namespace

const std::vector<Workload>& all_workloads() {
  static const std::vector<Workload> workloads{
      {"hello", "start, one activity, done; `width` in flight at all times (default 20 and 1000)", everywhere,
       run_hello},
      {"chain", "50 activities one after the other, one instance at a time; all figures are per step",
       everywhere, run_chain},
      {"latency", "hello, one at a time", everywhere, run_latency},
      {"fanout", "start, five activities at once, done (default width 20 and 1000)", everywhere, run_fanout},
      {"long",
       "one orchestration with 10000 steps (`count`): what a step costs at the end and at the beginning",
       where_kept, run_long},
      {"timers",
       "100000 instances (`count`) wait for a moment each, 10000 of them in a second (on postgres a tenth of "
       "both)",
       everywhere, run_timers},
      {"events",
       "one orchestration takes 100000 messages from its queue; 10000 orchestrations get an event each",
       everywhere, run_events},
      {"processes",
       "hello in one process, and in several on one store: two on a file, two and four on a server (default "
       "width 20)",
       where_kept, run_processes},
      {"resident", "memory and disk after 100000 hellos (`count`)", on_sqlite, run_resident},
      {"cancel", "from client.cancel() to the stop in the activity; idle, and during hello at width 20",
       everywhere, run_cancel},
      {"cancel2", "the same, with the activity in another process", where_kept, run_cancel2},
      {"masscancel",
       "one orchestration with 10000 activities (`count`) is cancelled: all of them running, or a tenth",
       everywhere, run_masscancel},
      {"idle", "store calls and CPU time of a runtime with 10000 waiting instances (`count`)", everywhere,
       run_idle},
      {"waiting", "1000000 instances (`count`) that wait for a timer: how much memory they take", on_sqlite,
       run_waiting},
      {"store",
       "turns, ends of activities and renewals, by one thread straight to the store; `width` is the batch "
       "(default 1, 10, 100, 1000)",
       without_server, run_store},
      {"growth",
       "a fetch, a commit and a cancel next to 1000 and 1000000 finished instances (`count`: instead of the "
       "latter)",
       where_kept, run_growth},
      {"scale",
       "fetches and a commit beside very much that they do not want, against an empty store (`count`: at "
       "most "
       "that much)",
       where_kept, run_scale},
      {"fairness",
       "the wait of a writer of one row next to a process that commits batches of `width` all the time",
       on_sqlite, run_fairness},
      {"replay",
       "the engine without a store: replay, completions, join and select, memory; `width` is how many things "
       "(default 1000, 10000, 100000)",
       without_server, run_replay},
  };
  return workloads;
}

const Workload& find_workload(const std::string& name) {
  const auto found = std::ranges::find(all_workloads(), name, &Workload::name);
  if (found == all_workloads().end()) throw std::logic_error("no workload " + name);
  return *found;
}

}  // namespace bench
