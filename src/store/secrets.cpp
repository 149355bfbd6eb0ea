// Removes passwords from texts for users and logs.
#include <duramen/detail/mutant.hpp>
#include <duramen/store.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>

namespace duramen::inline v0 {

namespace {

constexpr std::string_view hidden = "***";
constexpr std::string_view white = " \t\r\n";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Decodes a word of a URI as libpq does. An invalid escape is unchanged.
std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* const first = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(first, first + 2, byte, 16).ptr == first + 2) {
      plain += static_cast<char>(byte);
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

/// True if libpq's keyword of that name contains a secret: password, sslpassword, oauth_client_secret,
/// scram_client_key, scram_server_key.
bool is_secret(std::string_view keyword) {
  std::string name = decoded(keyword);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.ends_with("password") || name.ends_with("secret") || name.starts_with("scram_");
}

/// The position of the '?' before the parameters; npos if there are none. A '?' without a parameter after it
/// belongs to the part before it.
std::size_t begin_of_parameters(std::string_view rest) {
  for (std::size_t at = rest.find('?'); at != std::string_view::npos; at = rest.find('?', at + 1)) {
    std::size_t end = at + 1;
    while (end < rest.size() && (is_word(rest[end]) || rest[end] == '%')) ++end;
    if (end == rest.size() || (end > at + 1 && rest[end] == '=')) return at;
  }
  return std::string_view::npos;
}

/// "user:secret@host:port/database". Users forget to encode an @ or a / in a password, so the password ends
/// at the last @. Without an @, text after a colon that is not a port is hidden.
std::string shown_authority(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at != std::string_view::npos) {
    const std::size_t colon = text.find(':');
    if (colon >= at) return std::string(text);
    return std::string(text.substr(0, colon + 1)).append(hidden).append(text.substr(at));
  }
  std::string shown;
  bool in_brackets = false;  // an IPv6 address
  for (std::size_t i = 0; i < text.size(); ++i) {
    shown += text[i];
    if (text[i] == '/') return shown.append(text.substr(i + 1));
    if (text[i] == '[' || text[i] == ']') in_brackets = text[i] == '[';
    if (text[i] != ':' || in_brackets) continue;
    const std::size_t end = std::min(text.find_first_of(",/", i + 1), text.size());
    const std::string_view port = text.substr(i + 1, end - i - 1);
    const bool number = std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
    shown.append(number ? port : hidden);
    i = end - 1;
  }
  return shown;
}

/// The text after "://".
std::string shown_uri(std::string_view rest) {
  const std::size_t question = begin_of_parameters(rest);
  std::string shown = shown_authority(rest.substr(0, question));
  if (question == std::string_view::npos) return shown;
  for (std::size_t begin = question; begin < rest.size();) {
    const std::size_t end = std::min(rest.find('&', begin + 1), rest.size());
    const std::string_view parameter = rest.substr(begin, end - begin);  // with its '?' or '&'
    const std::size_t equals = parameter.find('=');
    const bool secret = equals != std::string_view::npos && is_secret(parameter.substr(1, equals - 1)) &&
                        !detail::mutant("password_parameter_is_shown");
    if (secret) {
      shown.append(parameter.substr(0, equals + 1)).append(hidden);
    } else {
      shown.append(parameter);
    }
    begin = end;
  }
  return shown;
}

/// The end of the value that begins at `at`, with libpq's quotes and backslashes.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  const bool quoted = at < text.size() && text[at] == '\'';
  for (std::size_t i = quoted ? at + 1 : at; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (quoted ? text[i] == '\'' : white.find(text[i]) != std::string_view::npos) {
      return quoted ? i + 1 : i;
    }
  }
  return text.size();
}

}  // namespace

std::string without_secrets(std::string_view text) {
  std::string shown;
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i).starts_with("://")) {
      // An address alone may have a space in its password; in a sentence it ends at a space.
      const bool alone = std::ranges::all_of(text.substr(0, i), is_word);
      const std::size_t end = alone ? text.size() : std::min(text.find_first_of(white, i), text.size());
      shown.append("://").append(shown_uri(text.substr(i + 3, end - i - 3)));
      i = end;
      continue;
    }
    if (!is_word(text[i])) {
      shown += text[i++];
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = text.substr(i, end - i);
    shown.append(word);
    i = end;
    const std::size_t equals = text.find_first_not_of(white, end);
    if (equals == std::string_view::npos || text[equals] != '=' || !is_secret(word)) continue;
    const std::size_t value = std::min(text.find_first_not_of(white, equals + 1), text.size());
    shown.append(text.substr(end, value - end)).append(hidden);
    i = end_of_value(text, value);
    // Hidden before, at the end of a quotation: the quotation mark is not part of the secret.
    if (text.substr(value, i - value) == std::string(hidden) + '"' &&
        !detail::mutant("hiding_twice_removes_a_quote")) {
      --i;
    }
  }
  return shown;
}

}  // namespace duramen::inline v0
