// What became of the orders, from the two witnesses there are: the histories in the store and the ledger
// outside it.
#pragma once

#include "ledger.hpp"
#include "terminal.hpp"
#include <duramen/client.hpp>

#include <vector>

namespace shop {

/// Prints the table of orders, the two cancellations, and each promise with whether it was kept. True if all
/// were.
[[nodiscard]] bool print_summary(const Terminal& terminal, duramen::Client& client,
                                 const std::vector<Entry>& ledger);

}  // namespace shop
