// The version of Duramen.
#pragma once

#include <string_view>

namespace duramen::inline v0 {

/// "0.1.0": the version of the library that the program is linked with.
[[nodiscard]] std::string_view version() noexcept;

}  // namespace duramen::inline v0
