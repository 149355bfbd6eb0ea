// Messages as the columns that deliver() takes.
#pragma once

#include "providers/postgres/parameters.hpp"
#include <duramen/provider.hpp>

namespace duramen::inline v0::postgres::detail {

/// The parent of an instance; NULLs without one.
struct ParentColumns {
  void add(const std::optional<ParentLink>& parent);
  void take_into(Parameters& parameters);

  TextColumn instance;
  BigintColumn key;
  BigintColumn execution;
  BigintColumn event;
};

struct MessageColumns {
  enum Kind { to_existing = 0, may_wait = 1, start = 2, cancel = 3, timer = 4 };

  void add(const OutboundMessage& message);
  void take_into(Parameters& parameters);

  SmallintColumn kind;
  TextColumn target;
  TextColumn item;
  BigintColumn at;
  TextColumn id;
  // A child's answer names the incarnation of its parent: a later instance with the same id must not get it.
  BigintColumn for_key;
  TextColumn name;
  TextColumn version;
  BigintColumn digest;
  SmallintColumn mode;  // of a cancel
  // Of a start or a cancel; of a timer its execution and event.
  ParentColumns parent;
};

/// The mode of a cancel as the schema's functions count it: 0 none, 1 graceful, 2 terminate.
[[nodiscard]] int cancel_strength(const std::optional<CancelMode>& mode);

}  // namespace duramen::inline v0::postgres::detail
