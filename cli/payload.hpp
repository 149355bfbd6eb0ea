// Payloads as users give them.
#pragma once

#include "arguments.hpp"
#include <duramen/payload.hpp>
#include <duramen/result.hpp>

namespace duramen::cli {

/// Reads a file or standard input if that was asked for, and checks that what must be JSON is. Nothing given:
/// none.
[[nodiscard]] Result<Payload> read_payload(const PayloadSource& source);

}  // namespace duramen::cli
