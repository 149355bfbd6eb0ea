// Random calls of every kind to a provider; the same seed gives the same calls.
//
// A call is chosen once and can be repeated until it succeeds. Choices depend on the seed, the clock and
// earlier answers, but not on tokens and incarnations, which differ between runs. So two correct stores with
// equal content get the same calls.
#pragma once

#include "providers/sqlite/fixture.hpp"
#include <duramen/provider.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace duramen::sqlite::test {

class RandomWork {
 public:
  struct Settings {
    std::uint64_t seed = 1;
    std::string prefix = "i";           ///< of instance names
    std::size_t largest_payload = 100;  ///< bytes
  };
  RandomWork(const Settings& settings, ManualClock& clock);

  /// Chooses the next call. May move the clock.
  void choose();
  /// Makes the chosen call. An error changes nothing here: repeat the call, or drop it.
  [[nodiscard]] Result<void> make(Provider& provider);
  /// The chosen call.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  struct Known {
    Incarnation incarnation;
    ExecutionId execution{1};
    EventId last;
    Status status = Status::running;
    std::vector<EventId> activities;
    std::vector<EventId> timers;
  };
  using Call = std::function<Result<void>(Provider&)>;

  [[nodiscard]] std::size_t below(std::size_t limit);
  [[nodiscard]] bool chance(double probability);
  [[nodiscard]] Payload payload();
  [[nodiscard]] std::string some_instance();

  void choose_start();
  void choose_message();
  void choose_first_turns();
  void choose_fetch_turns();
  void choose_commit_turns();
  void choose_give_back_turn();
  void choose_renew_turns();
  void choose_fetch_work();
  void choose_finish_work();
  void choose_finish_work_with_turn();
  void choose_give_back_work();
  void choose_renew_work();
  void choose_read_stolen();
  void choose_repeat();

  /// Adds random decisions to a turn, and updates the instance.
  Known decide(TurnCommit& commit, Known known);
  void commit(std::string name, std::vector<TurnCommit> commits, std::vector<Known> after);

  const Settings settings_;
  ManualClock& clock_;
  std::mt19937_64 random_;
  std::string name_;
  Call call_;

  std::uint64_t next_instance_ = 0;
  std::uint64_t next_token_ = 0;
  std::uint64_t next_message_ = 0;
  std::map<std::string, Known> known_;
  std::vector<LeasedInstance> turns_;  ///< leased to this work
  std::vector<LeasedActivity> work_;   ///< likewise
  std::vector<TurnCommit> last_commit_;
};

}  // namespace duramen::sqlite::test
