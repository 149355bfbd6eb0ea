// The one place that knows which version of the library this is. The build defines DURAMEN_VERSION.
#pragma once

#include <string_view>

#ifndef DURAMEN_VERSION
#define DURAMEN_VERSION "0.1.0"
#endif

namespace duramen::base {

/// Stamped on every event in interchange JSON.
inline constexpr std::string_view library_version = DURAMEN_VERSION;

}  // namespace duramen::base
