// The side file `<path>-bell`: how a commit in one store wakes those who share its file.
//
// The file is mapped by every store that has it open. A writer that has committed counts up the topics it
// touched and then the word that sleepers wait on. Each store has at most one thread asleep there; it
// compares the counters with what it saw before, less its own rings, and tells its listeners. A slow look of
// its own finds commits that nobody rang for: by a program that does not know the bell, or by one that died
// in between.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace duramen::inline v0::sqlite::detail {

/// What a commit may have changed for others.
struct Topics {
  bool turns_ready = false;
  bool activities_ready = false;
  bool stolen_leases = false;
  bool instances = false;

  [[nodiscard]] bool any() const noexcept {
    return turns_ready || activities_ready || stolen_leases || instances;
  }
  [[nodiscard]] static Topics all() noexcept { return {true, true, true, true}; }
};

class Bell {
 public:
  /// Opens or creates and maps the file. Throws StoreError.
  explicit Bell(const std::string& path);
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  /// Wakes everybody else.
  void ring(Topics topics) noexcept;

  /// Starts the listening thread, unless it runs. `heard` is called on it when others rang; `look` about once
  /// a second, and says whether something changed that nobody rang for.
  void listen(std::function<void(Topics)> heard, std::function<bool()> look);
  /// Ends the thread; no call of `heard` or `look` is running or will come.
  void stop();

 private:
  static constexpr std::size_t topic_count = 4;

  // Shared between processes: the layout is part of the file format.
  struct Shared {
    std::uint32_t word;
    std::uint32_t reserved;
    std::uint64_t rings[topic_count];
  };
  using Counts = std::array<std::uint64_t, topic_count>;

  [[nodiscard]] Counts rung_by_others() const noexcept;
  void run();

  Shared* shared_ = nullptr;
  std::array<std::atomic<std::uint64_t>, topic_count> own_{};

  std::mutex mutex_;  // guards the start and end of the thread
  std::thread thread_;
  std::atomic<bool> stopping_ = false;
  Counts seen_{};
  std::function<void(Topics)> heard_;
  std::function<bool()> look_;
};

}  // namespace duramen::inline v0::sqlite::detail
