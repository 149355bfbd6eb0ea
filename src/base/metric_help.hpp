// What each metric of ours means, in one line; docs/reference/metrics.md says more.
#pragma once

#include <string_view>

namespace duramen::base {

/// The HELP line of a metric. For a name that is not ours, a line that says so.
[[nodiscard]] std::string_view metric_help(std::string_view name) noexcept;

}  // namespace duramen::base
