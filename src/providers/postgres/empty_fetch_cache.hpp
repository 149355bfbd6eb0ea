// Answers fetches without the server: the last one found nothing, and nothing was announced since.
//
// A runtime polls so that a lost notification costs only seconds. While every announcement is received, the
// polls are more frequent than needed: only every few seconds, or when the next message is due, one asks the
// server.
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
  /// An answer is valid for this long.
  static constexpr std::chrono::milliseconds good_for{4500};

  /// Something was written here or announced: the next fetch asks the server.
  void invalidate() noexcept { ++generation_; }

  /// Returns an empty batch if the server would return one again; else calls `fetch`, which asks the server.
  template <class Fetch>
  auto ask(const std::string& key, const Clock& clock, Fetch&& fetch) -> decltype(fetch()) {
    if (const auto known = answer(key, clock.now())) {
      decltype(fetch()) nothing;
      nothing.next_due = known->next_due;
      return nothing;
    }
    const std::uint64_t generation = generation_;  // read before the server is asked
    auto batch = fetch();
    if (batch.items.empty()) remember(key, generation, {batch.next_due});
    return batch;
  }

 private:
  struct Answer {
    std::optional<TimePoint> next_due;
  };
  struct Entry {
    Answer answer;
    std::uint64_t generation;
    Steady::time_point asked;
  };

  [[nodiscard]] std::optional<Answer> answer(const std::string& key, TimePoint now) {
    const std::lock_guard lock(mutex_);
    const auto known = answers_.find(key);
    if (known == answers_.end()) return std::nullopt;
    const Entry& entry = known->second;
    const bool good = entry.generation == generation_ && Steady::now() < entry.asked + good_for &&
                      (!entry.answer.next_due || now < *entry.answer.next_due);
    if (good) return entry.answer;
    answers_.erase(known);
    return std::nullopt;
  }
  void remember(const std::string& key, std::uint64_t generation, Answer nothing) {
    const std::lock_guard lock(mutex_);
    if (answers_.size() >= 64) answers_.clear();  // of old nodes
    answers_.insert_or_assign(key, Entry{nothing, generation, Steady::now()});
  }

  std::atomic<std::uint64_t> generation_ = 0;
  std::mutex mutex_;
  std::map<std::string, Entry> answers_;
};

/// A fetch as text: equal texts would get equal answers.
[[nodiscard]] std::string cache_key(const TurnFetch& request);
[[nodiscard]] std::string cache_key(const ActivityFetch& request);

}  // namespace duramen::inline v0::postgres::detail
