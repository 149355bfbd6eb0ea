// The definition of text: valid UTF-8 without NUL.
#pragma once

#include <string>
#include <string_view>

namespace duramen::base {

/// True if `text` is well-formed UTF-8. NUL is well-formed.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// True if `text` may be stored: UTF-8 without NUL.
[[nodiscard]] bool is_text(std::string_view text) noexcept;

/// Makes text storable: every byte that is NUL or not part of a well-formed sequence becomes U+FFFD. Used for
/// outside text that must not be lost, like the message of an exception.
[[nodiscard]] std::string to_text(std::string text);

/// The beginning of `text`, at most `limit` bytes plus "...", never cut inside a character.
[[nodiscard]] std::string excerpt(std::string_view text, std::size_t limit);

}  // namespace duramen::base
