// The version of the library, for its own sources. The build defines DURAMEN_VERSION from project() in the
// topmost CMakeLists.txt, the only place that contains it.
#pragma once

#include <string_view>

namespace duramen::base {

/// Written to every event in interchange JSON.
inline constexpr std::string_view library_version = DURAMEN_VERSION;

}  // namespace duramen::base
