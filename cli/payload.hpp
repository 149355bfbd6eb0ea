// Payloads from the command line.
#pragma once

#include "arguments.hpp"
#include <duramen/payload.hpp>
#include <duramen/result.hpp>

namespace duramen::cli {

/// Reads a file or standard input if requested, and checks JSON. Without arguments: no payload.
[[nodiscard]] Result<Payload> read_payload(const PayloadSource& source, const char* option);

}  // namespace duramen::cli
