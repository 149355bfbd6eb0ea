// The completion scripts of completion/, compiled into the program.
#pragma once

#include <string_view>

namespace duramen::cli {

[[nodiscard]] std::string_view bash_completion() noexcept;
[[nodiscard]] std::string_view zsh_completion() noexcept;

}  // namespace duramen::cli
