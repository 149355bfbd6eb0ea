// The meaning of each metric in one line; docs/reference/metrics.md has the details.
#pragma once

#include <string_view>

namespace duramen::base {

/// The HELP line of a metric. A name of the host program gets a generic line.
[[nodiscard]] std::string_view metric_help(std::string_view name) noexcept;

}  // namespace duramen::base
