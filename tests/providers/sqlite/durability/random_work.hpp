// Calls to a provider chosen by chance, as many kinds as there are, and the same ones for the same seed.
//
// A call is chosen once and can be made again until it succeeds. Choices depend on the seed, on the clock and
// on what the calls before answered, less tokens and incarnations, which differ between runs; so two stores
// that begin alike and answer rightly are asked the same.
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
    std::string prefix = "i";           ///< of the names of instances
    std::size_t largest_payload = 100;  ///< bytes
  };
  RandomWork(const Settings& settings, ManualClock& clock);

  /// Decides what the next call is. May move the clock.
  void choose();
  /// Makes it. After an error nothing has changed here: make it again, or leave it.
  [[nodiscard]] Result<void> make(Provider& provider);
  /// What was chosen.
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

  /// Adds what a turn may decide, and says what the instance is after it.
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
  std::vector<LeasedInstance> turns_;  ///< leased to us
  std::vector<LeasedActivity> work_;   ///< likewise
  std::vector<TurnCommit> last_commit_;
};

}  // namespace duramen::sqlite::test
