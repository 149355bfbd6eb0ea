// The list of workloads.
#pragma once

#include "bench/arguments.hpp"
#include "bench/report.hpp"
#include "bench/scene.hpp"

#include <string>
#include <vector>

namespace bench {

/// The stores of a workload, in addition to SQLite.
struct OtherStores {
  bool memory = false;
  bool postgres = false;
};

struct Workload {
  std::string name;
  std::string help;
  OtherStores stores;
  void (*run)(Scene& scene) = nullptr;
};

[[nodiscard]] const std::vector<Workload>& all_workloads();
/// The name must be one of them.
[[nodiscard]] const Workload& find_workload(const std::string& name);

// One per file in workloads/.
void run_hello(Scene& scene);
void run_latency(Scene& scene);
void run_fanout(Scene& scene);
void run_chain(Scene& scene);
void run_cancel(Scene& scene);
void run_cancel2(Scene& scene);
void run_masscancel(Scene& scene);
void run_idle(Scene& scene);
void run_waiting(Scene& scene);
void run_store(Scene& scene);
void run_growth(Scene& scene);
void run_long(Scene& scene);
void run_timers(Scene& scene);
void run_events(Scene& scene);
void run_processes(Scene& scene);
void run_resident(Scene& scene);
void run_fairness(Scene& scene);
void run_scale(Scene& scene);
void run_replay(Scene& scene);

}  // namespace bench
