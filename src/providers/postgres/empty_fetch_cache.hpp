// Fetches that need not ask the server: nothing was there a moment ago, and nothing has been heard of since.
//
// A runtime polls so that a lost hint costs seconds and not for ever. Where every hint is heard, that is more
// often than needed: the server is asked every few seconds only, or when what it said was due has come.
#pragma once

#include <duramen/provider.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace duramen::inline v0::postgres::detail {

/// Callable from any thread.
class EmptyFetchCache {
 public:
  using Steady = std::chrono::steady_clock;
  /// An answer is good for so long.
  static constexpr std::chrono::milliseconds good_for{4500};

  /// Something was written here, or was heard of: whoever asks next asks the server.
  void invalidate() noexcept { ++generation_; }
  /// To be read before the server is asked.
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }

  struct Answer {
    std::optional<TimePoint> next_due;
  };
  /// What the server said to the same question, if it would say the same again.
  [[nodiscard]] std::optional<Answer> answer(const std::string& question, TimePoint now) {
    const std::lock_guard lock(mutex_);
    const auto known = answers_.find(question);
    if (known == answers_.end()) return std::nullopt;
    const Entry& entry = known->second;
    const bool good = entry.generation == generation_ && Steady::now() < entry.asked + good_for &&
                      (!entry.answer.next_due || now < *entry.answer.next_due);
    if (good) return entry.answer;
    answers_.erase(known);
    return std::nullopt;
  }
  void remember(const std::string& question, std::uint64_t generation, Answer nothing) {
    const std::lock_guard lock(mutex_);
    if (answers_.size() >= 64) answers_.clear();  // of nodes long gone
    answers_.insert_or_assign(question, Entry{nothing, generation, Steady::now()});
  }

 private:
  struct Entry {
    Answer answer;
    std::uint64_t generation;
    Steady::time_point asked;
  };

  std::atomic<std::uint64_t> generation_ = 0;
  std::mutex mutex_;
  std::map<std::string, Entry> answers_;
};

/// A fetch as text: equal if the same would be returned.
[[nodiscard]] std::string cache_key(const TurnFetch& request);
[[nodiscard]] std::string cache_key(const ActivityFetch& request);

}  // namespace duramen::inline v0::postgres::detail
