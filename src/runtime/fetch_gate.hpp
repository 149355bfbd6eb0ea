// Fetching one kind of work: at most one fetch at a time, and one more if a hint arrives meanwhile.
#pragma once

#include <atomic>

namespace duramen::inline v0::runtime {

/// On the loop, except hint().
class FetchGate {
 public:
  /// True: the caller fetches, and calls finish(), cancel() or postpone(). False: a fetch is under way, and
  /// its finish() will demand another.
  [[nodiscard]] bool try_begin() noexcept {
    if (under_way_) {
      again_ = true;
      return false;
    }
    under_way_ = true;
    again_ = false;
    return true;
  }
  /// The fetch has returned. True: fetch again, as there is `more` or a fetch was refused meanwhile.
  [[nodiscard]] bool finish(bool more) noexcept {
    under_way_ = false;
    return again_ || more;
  }
  /// The caller of try_begin() does not fetch.
  void cancel() noexcept { under_way_ = false; }
  /// The caller of try_begin() does not fetch yet: is_wanted() until the next try_begin().
  void postpone() noexcept {
    under_way_ = false;
    again_ = true;
  }
  [[nodiscard]] bool is_wanted() const noexcept { return again_; }
  [[nodiscard]] bool is_idle() const noexcept { return !under_way_; }

  /// Any thread. True: the caller posts a job that calls follow_hint() and fetches. False: such a job is
  /// posted already.
  [[nodiscard]] bool hint() noexcept { return !hinted_.exchange(true); }
  void follow_hint() noexcept { hinted_.store(false); }

 private:
  bool under_way_ = false;
  bool again_ = false;
  std::atomic<bool> hinted_{false};  // a job that follows the hint is posted
};

}  // namespace duramen::inline v0::runtime
