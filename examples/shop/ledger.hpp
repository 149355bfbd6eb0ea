// The records of the outside world: the bank, the warehouse and the courier, in one text file.
//
// Duramen runs an activity at least once. After a crash it may repeat an activity that already took effect,
// so the called system must recognise the repeat: by the idempotency key. Here the world checks the key
// before it acts, and the file shows every request afterwards.
#pragma once

#include <duramen/activity.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace shop {

enum class What : std::uint8_t {
  began,     ///< an activity started
  done,      ///< it took effect
  repeated,  ///< a repeat: the key was known, no effect
  stopped,   ///< stopped before it took effect; the note has the reason
};

/// One line of the file.
struct Entry {
  std::chrono::milliseconds time{};  ///< since 1970
  std::string order;
  std::string activity;
  unsigned attempt = 0;
  std::string key;
  What what = What::began;
  std::string note;
};

/// Safe to use from several threads and processes at once.
class Ledger {
 public:
  /// Creates the file if it does not exist. Throws std::system_error.
  explicit Ledger(std::filesystem::path file);

  void write(const duramen::ActivityContext& ctx, What what, const std::string& note = {});
  /// Acts once per idempotency key. False for a repeat.
  bool act_once(const duramen::ActivityContext& ctx, const std::string& note);

  [[nodiscard]] std::vector<Entry> read() const;

 private:
  std::filesystem::path file_;
};

}  // namespace shop
