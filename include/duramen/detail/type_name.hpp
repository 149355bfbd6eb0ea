// Names of C++ types, for messages. Not API.
#pragma once

#include <string>
#include <typeinfo>

namespace duramen::inline v0::detail {

/// As written in code: "std::runtime_error", "shop::Order".
[[nodiscard]] std::string type_name(const std::type_info& type);

}  // namespace duramen::inline v0::detail
