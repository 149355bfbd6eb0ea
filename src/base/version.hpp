// The version of the library, for its own sources. The build defines DURAMEN_VERSION from the one place where
// it is written: project() in the topmost CMakeLists.txt.
#pragma once

#include <string_view>

namespace duramen::base {

/// Stamped on every event in interchange JSON.
inline constexpr std::string_view library_version = DURAMEN_VERSION;

}  // namespace duramen::base
