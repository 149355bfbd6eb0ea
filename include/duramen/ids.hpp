// Identifiers as types: an InstanceId cannot be passed as a NodeId.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace duramen::inline v0 {

/// A name chosen by people. Converts from text, because callers write it in place; never from another kind of
/// name.
template <class Tag>
struct Name {
  std::string value;

  Name() = default;
  Name(std::string text) : value(std::move(text)) {}  // NOLINT: written in place by callers
  Name(std::string_view text) : value(text) {}        // NOLINT
  Name(const char* text) : value(text) {}             // NOLINT

  /// True if the name is empty.
  [[nodiscard]] bool empty() const noexcept { return value.empty(); }
  friend auto operator<=>(const Name&, const Name&) = default;
};

/// A number assigned by the engine or the store. Zero means "none"; always below 2^63, so that every store
/// shows it unchanged.
template <class Tag>
struct Number {
  std::uint64_t value = 0;

  constexpr Number() = default;
  constexpr explicit Number(std::uint64_t number) : value(number) {}

  /// False for "none".
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return value != 0; }
  [[nodiscard]] constexpr Number next() const noexcept { return Number{value + 1}; }
  friend constexpr auto operator<=>(const Number&, const Number&) = default;
};

/// A unit of work. The caller of start() chooses the id; it is unique among the existing instances of a
/// store.
using InstanceId = Name<struct InstanceTag>;
/// One runtime. Unique among all runtimes that share a store, even across restarts. At most 128 bytes.
using NodeId = Name<struct NodeTag>;

/// One run of an instance; 1 for the first, incremented by every continue-as-new.
using ExecutionId = Number<struct ExecutionTag>;
/// Position in an execution's history, from 1. The id of a schedule event also identifies the scheduled
/// operation.
using EventId = Number<struct EventTag>;
/// The store's own key of an instance, never reused: leftovers of a deleted instance cannot affect a new one
/// of the same name.
using Incarnation = Number<struct IncarnationTag>;
/// Proves that one holder has a lease. Random, unique in combination with the leased row; compared, never
/// interpreted.
using LeaseToken = Number<struct LeaseTag>;
/// Identifies one commit, so that a repeat after a lost answer has no effect. Random.
using CommitToken = Number<struct CommitTag>;

/// A scheduled activity: the identity of its row in the worker queue.
struct ActivityKey {
  Incarnation incarnation;
  ExecutionId execution;
  EventId activity;
  friend auto operator<=>(const ActivityKey&, const ActivityKey&) = default;
};

}  // namespace duramen::inline v0

template <class Tag>
struct std::hash<duramen::Name<Tag>> {
  std::size_t operator()(const duramen::Name<Tag>& name) const noexcept {
    return std::hash<std::string>{}(name.value);
  }
};
template <class Tag>
struct std::hash<duramen::Number<Tag>> {
  std::size_t operator()(const duramen::Number<Tag>& n) const noexcept {
    return std::hash<std::uint64_t>{}(n.value);
  }
};
template <>
struct std::hash<duramen::ActivityKey> {
  std::size_t operator()(const duramen::ActivityKey& key) const noexcept {
    std::uint64_t h = key.incarnation.value * 0x9E3779B97F4A7C15ull;
    h = (h ^ key.execution.value) * 0xC2B2AE3D27D4EB4Full;
    return static_cast<std::size_t>((h ^ key.activity.value) * 0x165667B19E3779F9ull);
  }
};
