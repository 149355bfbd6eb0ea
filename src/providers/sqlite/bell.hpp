// The side file `<path>-bell`: a commit of one store wakes the other stores on the same file.
//
// Every open store maps the file. After a commit, the writer increments the counters of the topics that it
// touched and then the word that sleepers wait on. Each store has at most one sleeping thread; it compares
// the counters with the values that it saw before, less its own rings, and notifies its listeners. About once
// a second the thread also checks for commits without a ring: by a program that does not know the bell, or by
// one that died before it rang.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace duramen::inline v0::sqlite::detail {

/// The kinds of change that other stores want to know.
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

  /// Wakes the other stores.
  void ring(Topics topics) noexcept;

  /// Starts the listening thread, unless it runs. The thread calls `rung` when other stores rang, and `check`
  /// about once a second; `check` returns true if a commit came without a ring.
  void listen(std::function<void(Topics)> rung, std::function<bool()> check);
  /// Ends the thread; after that no call of `rung` or `check` is running or will come.
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
  std::function<void(Topics)> rung_;
  std::function<bool()> check_;
};

}  // namespace duramen::inline v0::sqlite::detail
