// The Env of one simulated node: queues instead of threads, and a clock that the simulation moves.
//
// Nothing runs by itself. The owner of the env asks how many queues have a job, chooses one and runs its next
// job, so one thread and one seed decide the order of everything. Each executor keeps the order of its jobs;
// lanes with several threads do not, as in production.
#pragma once

#include "testing/simulation/random.hpp"
#include <duramen/env.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace duramen::inline v0::testing {

class SimulatedEnv final : public Env {
 public:
  /// `clock` must outlive the env.
  SimulatedEnv(const Clock& clock, SeededRandom random);
  ~SimulatedEnv() override;

  // Env.
  [[nodiscard]] const Clock& clock() const override { return clock_; }
  [[nodiscard]] std::uint64_t random() override { return random_.next(); }
  [[nodiscard]] Executor& loop() override { return queues_[0]; }
  [[nodiscard]] Executor& activity_loop() override { return queues_[1]; }
  [[nodiscard]] Executor& lease_loop() override { return queues_[2]; }
  void run_elsewhere(Lane lane, Job work) override;
  /// Nothing blocks here: no time passes.
  bool pause_activity(Duration /*delay*/, const std::stop_token& stop) override {
    return !stop.stop_requested();
  }
  /// False if the loop has jobs; else random, because both answers must be correct.
  [[nodiscard]] bool loop_is_idle() const override;

  /// Queues whose next job could run now.
  [[nodiscard]] std::size_t runnable();
  /// Runs the next job of the `index`-th of them and returns the name of its queue.
  std::string_view run(std::size_t index);
  /// When the next timer is due, if nothing is runnable before.
  [[nodiscard]] std::optional<LeaseTime> next_timer() const;

  /// The node stalls until `until`: none of its jobs is runnable.
  void stall(LeaseTime until) { stalled_until_ = until; }
  /// The node is dead: it accepts no more jobs. drop_jobs() destroys the queued ones.
  void kill() noexcept { dead_ = true; }
  void drop_jobs();
  [[nodiscard]] bool dead() const noexcept { return dead_; }

 private:
  class Queue final : public Executor {
   public:
    Queue(SimulatedEnv& env, std::string_view name, bool ordered)
        : env_(env), name_(name), ordered_(ordered) {}
    void post(Job job) override;
    void post_first(Job job) override;
    void post_at(LeaseTime when, Job job) override;

   private:
    friend class SimulatedEnv;
    SimulatedEnv& env_;
    std::string_view name_;
    bool ordered_;
    std::deque<Job> jobs_;
    std::size_t urgent_ = 0;  // how many at the front of jobs_
    LeaseTime slow_until_{};  // no job runs before

    [[nodiscard]] bool ready(LeaseTime now) const { return !jobs_.empty() && slow_until_ <= now; }
  };
  void release_timers();

  const Clock& clock_;
  mutable SeededRandom random_;
  std::array<Queue, 8> queues_;  // loop, activity loop, lease loop, then the lanes
  // By due time, then by order of posting.
  std::map<std::pair<LeaseTime, std::uint64_t>, std::pair<Queue*, Job>> timers_;
  std::uint64_t posted_ = 0;
  LeaseTime stalled_until_{};
  bool dead_ = false;
};

}  // namespace duramen::inline v0::testing
