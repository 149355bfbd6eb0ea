// Where a fetch of turns begins to look: rows of the queue below a floor are gone, whatever the server still
// keeps of them.
//
// An entry gets its number when it becomes ready, under the lock of its instance: a transaction has an id
// before it takes a number. A fetch reads the last number and gets an id of its own afterwards, so every
// transaction that took a number up to the last one has a lower id. Once all transactions with lower ids have
// ended, no row can appear with such a number. A fetch that changes nothing has no id: it asks for one if
// numbers were taken since the last settlement, and every few seconds for the sake of the times. The end of a
// lease or a delay, and the time of a timer, are settled likewise: a session reads the clock under its locks,
// and writes no time before that.
// Every ten seconds one fetch looks from the beginning, for each capability and for the times. So does the
// next one if a number or the time has fallen, as after a failover that lost transactions.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace duramen::inline v0::postgres::detail {

/// Callable from any thread.
class Floors {
 public:
  using Steady = std::chrono::steady_clock;

  struct Begin {
    std::vector<std::int64_t> ready;  ///< one for each capability
    std::int64_t wake = before_all;
    /// Settled before the fetch looked: it has seen all rows up to here.
    std::int64_t settled = before_all;
    std::int64_t settled_time = before_all;
    bool wants_id = false;
  };
  /// The answer of a fetch.
  struct Answer {
    std::int64_t last = 0;  ///< the last number, read before the fetch had an id
    std::int64_t time = 0;  ///< of leases, likewise
    std::int64_t xmin = 0;  ///< every transaction below it had ended before the fetch looked
    std::optional<std::int64_t> own_id = {};  ///< the id of the fetch; absent: it has changed nothing
    std::vector<std::int64_t> lowest;         ///< the lowest number of each capability; 0: none
    std::optional<std::int64_t> lowest_wake;
  };

  static constexpr std::int64_t before_all = -1;

  static constexpr std::chrono::seconds all_after{10};

  [[nodiscard]] Begin begin(std::span<const std::string> capabilities,
                            Steady::time_point now = Steady::now());
  /// False: the floors were too high for this server. They are gone, and the caller looks again.
  [[nodiscard]] bool end(std::span<const std::string> capabilities, const Begin& begin, const Answer& answer,
                         Steady::time_point now = Steady::now());

 private:
  struct Floor {
    std::int64_t at = before_all;
    Steady::time_point looked_at_all = {};  ///< the last fetch that looked from the beginning

    /// Where to look from.
    [[nodiscard]] std::int64_t from(Steady::time_point now) const {
      return now - looked_at_all >= all_after ? before_all : at;
    }
  };
  static constexpr std::int64_t id_after_ms = 5'000;

  std::mutex mutex_;
  std::map<std::string, Floor> ready_;
  Floor wake_;
  std::int64_t settled_ = before_all;
  std::int64_t settled_time_ = before_all;
  std::optional<Answer> remembered_;  // its numbers are settled when all lower transactions have ended
  std::int64_t last_ = 0;             // the last answer
  std::int64_t time_ = 0;
};

}  // namespace duramen::inline v0::postgres::detail
