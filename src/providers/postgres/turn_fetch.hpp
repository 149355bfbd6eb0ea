// A fetch of turns: what it asks for, and its answer.
#pragma once

#include "providers/postgres/floors.hpp"
#include "providers/postgres/parameters.hpp"
#include "providers/postgres/rows.hpp"
#include <duramen/provider.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace duramen::inline v0::postgres::detail {

/// The capabilities of a node, see providers/common/capability.hpp.
struct Capabilities {
  explicit Capabilities(const TurnFetch& request);
  void add_to(Parameters& parameters, std::span<const std::int64_t> floors) const;

  bool all = false;  ///< of the levels of the request
  std::vector<std::string> exact;
  std::vector<std::string> prefixes;
};

/// A limit in a form that SQL can add to.
[[nodiscard]] std::int64_t count_or_largest(std::size_t limit);

/// The rows of fetch_turns().
class FetchedTurns {
 public:
  enum {
    key,
    place,
    at,
    timer_execution,
    item,
    instance_id,
    orchestration,
    version,
    status,
    last_event_id,
    attempt,
    cancel_place,
    replay_token,
    token,
    keys,
    values,
    encodings,
    updated_at,
    next_due,
    now,
    lows,
    low_wake,
    last,
    xmin,
    own_id,
    works_with,
    began,
    left_ready
  };

  FetchedTurns(const Rows& rows, const TurnFetch& request);

  [[nodiscard]] std::vector<LeasedInstance> take() { return std::move(items_); }
  [[nodiscard]] std::size_t unreadable() const noexcept { return unreadable_; }
  [[nodiscard]] Floors::Answer floors() const;

 private:
  [[nodiscard]] LeasedInstance read_header(int row) const;
  /// Reads the timers and messages in rows `from` to `to`.
  void read_messages(LeasedInstance& item, int header, int from, int to, std::size_t& total_bytes);

  const Rows& rows_;
  const TurnFetch& request_;
  std::vector<LeasedInstance> items_;
  std::size_t unreadable_ = 0;
};

}  // namespace duramen::inline v0::postgres::detail
