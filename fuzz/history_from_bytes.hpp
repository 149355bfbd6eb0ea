// Bytes as a history and messages: almost every input is a possible input of the engine, usually an invalid
// one.
#pragma once

#include <duramen/history.hpp>
#include <duramen/message.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace duramen::fuzz {

/// Returns numbers; zeros after the end.
class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> data) : data_(data) {}
  [[nodiscard]] bool empty() const { return at_ >= data_.size(); }
  std::uint8_t byte() { return empty() ? std::uint8_t{0} : data_[at_++]; }
  std::size_t below(std::size_t count) { return byte() % count; }

 private:
  std::span<const std::uint8_t> data_;
  std::size_t at_ = 0;
};

/// An event of any kind, with a source and one of the few names that programs use.
[[nodiscard]] Event make_event(Bytes& bytes, EventId id);
[[nodiscard]] MessageBody make_message(Bytes& bytes);
/// Deletes, repeats, swaps, renumbers or replaces events.
void damage(Bytes& bytes, std::vector<Event>& history);

}  // namespace duramen::fuzz
