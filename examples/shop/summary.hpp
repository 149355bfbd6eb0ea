// The outcomes of the orders, from two sources: the histories in the store and the ledger outside it.
#pragma once

#include "ledger.hpp"
#include "terminal.hpp"
#include <duramen/client.hpp>

#include <vector>

namespace shop {

/// Prints the table of orders, the two cancellations, and for each promise whether it was kept. True if all
/// were.
[[nodiscard]] bool print_summary(const Terminal& terminal, duramen::Client& client,
                                 const std::vector<Entry>& ledger);

}  // namespace shop
