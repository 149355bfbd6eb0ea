// What the outside world remembers: the bank, the warehouse and the courier, in one text file.
//
// Duramen runs an activity at least once. After a crash it may run one again whose work was done already, so
// whoever it calls must be able to tell: that is what the idempotency key is for. Here the world keeps its
// promise by looking the key up before it acts, and the file shows afterwards who asked for what, and how
// often.
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
  repeated,  ///< it was asked for again; the key was known and nothing happened
  stopped,   ///< it was told to stop before it took effect; the note says why
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
  /// Acts once per idempotency key. False if that had happened before.
  bool act_once(const duramen::ActivityContext& ctx, const std::string& note);

  [[nodiscard]] std::vector<Entry> read() const;

 private:
  std::filesystem::path file_;
};

}  // namespace shop
