// Messages as the columns that deliver() takes.
#pragma once

#include "providers/postgres/parameters.hpp"
#include <duramen/provider.hpp>

namespace duramen::inline v0::postgres::detail {

/// Where an instance comes from; NULLs for one that has no parent.
struct ParentColumns {
  void add(const std::optional<ParentLink>& parent);
  void take_into(Parameters& parameters);

  Texts instance;
  Numbers key;
  Numbers execution;
  Numbers event;
};

struct MessageColumns {
  enum Kind { to_existing = 0, may_wait = 1, start = 2 };

  void add(const OutboundMessage& message);
  void take_into(Parameters& parameters);

  Kinds kind;
  Texts target;
  Texts item;
  Numbers at;
  Texts id;
  Numbers
      for_key;  // a child's answer names the instance that asked, not one of the same name that came after it
  Texts name;
  Numbers digest;
  ParentColumns parent;
};

}  // namespace duramen::inline v0::postgres::detail
