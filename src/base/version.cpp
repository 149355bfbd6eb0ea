#include <duramen/version.hpp>

#include "base/version.hpp"

namespace duramen::inline v0 {

std::string_view version() noexcept { return base::library_version; }

}  // namespace duramen::inline v0
