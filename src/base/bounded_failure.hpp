// Limits the stored size of a failure.
#pragma once

#include <duramen/failure.hpp>

#include <cstddef>
#include <string>

namespace duramen::base {

/// The beginning of a longer text, with a mark that gives its length; together at most `limit` bytes.
[[nodiscard]] std::string cut(std::string text, std::size_t limit);

/// Limits a failure as the end of an activity or an orchestration stores it: see Failure. Must not be applied
/// to failures in history: code that reads one must read the same on every replay.
[[nodiscard]] Failure bounded(Failure failure);

}  // namespace duramen::base
