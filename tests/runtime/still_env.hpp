// An Env in which nothing runs by itself: the test runs the queue that it chooses, at the time that it
// chooses.
#pragma once

#include <duramen/env.hpp>
#include <duramen/testing/manual_clock.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace duramen::test {

class StillEnv final : public Env {
 public:
  struct Timer {
    LeaseTime when;
    Job job;
  };
  class Queue final : public Executor {
   public:
    explicit Queue(const Clock& clock) : clock_(clock) {}
    void post(Job job) override { jobs.push_back(std::move(job)); }
    void post_first(Job job) override { jobs.push_front(std::move(job)); }
    void post_at(LeaseTime when, Job job) override { timers.push_back({when, std::move(job)}); }
    /// Runs the jobs, and those that they post.
    void drain() {
      while (!jobs.empty()) {
        Job job = std::move(jobs.front());
        jobs.pop_front();
        job();
      }
    }
    /// Runs the timers that are due, and drains.
    void fire() {
      std::vector<Timer> due;
      for (Timer& timer : std::exchange(timers, {})) {
        (timer.when <= clock_.lease_now() ? due : timers).push_back(std::move(timer));
      }
      for (Timer& timer : due) timer.job();
      drain();
    }
    std::deque<Job> jobs;
    std::vector<Timer> timers;

   private:
    const Clock& clock_;
  };

  [[nodiscard]] const Clock& clock() const override { return time; }
  [[nodiscard]] std::uint64_t random() override { return ++last_random; }
  [[nodiscard]] Executor& loop() override { return main; }
  [[nodiscard]] Executor& activity_loop() override { return coroutines; }
  [[nodiscard]] Executor& lease_loop() override { return leases; }
  void run_elsewhere(Lane lane, Job work) override { at(lane).post(std::move(work)); }
  bool pause_activity(Duration /*delay*/, const std::stop_token& /*stop*/) override { return true; }
  [[nodiscard]] bool loop_is_idle() const override { return false; }

  [[nodiscard]] Queue& at(Lane lane) { return lanes.at(static_cast<std::size_t>(lane)); }
  /// Runs everything that is due now, until nothing is left. The lane `except` stands still.
  void settle(std::optional<Lane> except = std::nullopt) {
    for (bool busy = true; busy;) {
      busy = false;
      for (Queue* queue : {&main, &coroutines, &leases}) queue->fire();
      for (Queue& queue : lanes) {
        if (except && &queue == &at(*except)) continue;
        busy = busy || !queue.jobs.empty();
        queue.drain();
      }
      for (Queue* queue : {&main, &coroutines, &leases}) busy = busy || !queue->jobs.empty();
    }
  }

  testing::ManualClock time;
  std::uint64_t last_random = 0;
  Queue main{time};
  Queue coroutines{time};
  Queue leases{time};
  std::array<Queue, 5> lanes{Queue{time}, Queue{time}, Queue{time}, Queue{time}, Queue{time}};
};

}  // namespace duramen::test
