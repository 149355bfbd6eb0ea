// Messages as the columns that deliver() takes.
#pragma once

#include "providers/postgres/parameters.hpp"
#include <duramen/provider.hpp>

namespace duramen::inline v0::postgres::detail {

/// Where an instance comes from; NULLs for one that has no parent.
struct ParentColumns {
  void add(const std::optional<ParentLink>& parent);
  void take_into(Parameters& parameters);

  TextColumn instance;
  BigintColumn key;
  BigintColumn execution;
  BigintColumn event;
};

struct MessageColumns {
  enum Kind { to_existing = 0, may_wait = 1, start = 2 };

  void add(const OutboundMessage& message);
  void take_into(Parameters& parameters);

  SmallintColumn kind;
  TextColumn target;
  TextColumn item;
  BigintColumn at;
  TextColumn id;
  BigintColumn
      for_key;  // a child's answer names the instance that asked, not one of the same name that came after it
  TextColumn name;
  BigintColumn digest;
  ParentColumns parent;
};

}  // namespace duramen::inline v0::postgres::detail
