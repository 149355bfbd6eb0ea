// A capability: the engine version, the orchestration and the version of the code that a node needs to work
// on an instance, as one text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace duramen::inline v0::providers {

/// Without a version: any version of the orchestration will do. Without a name: no code is needed.
/// The forms are ordered so that all versions of an orchestration share the prefix capability_prefix().
[[nodiscard]] inline std::string capability_prefix(std::uint32_t level, std::string_view name) {
  std::string text = std::to_string(level);
  text.append("\n").append(name).append("\n");
  return text;
}

[[nodiscard]] inline std::string capability(std::uint32_t level, std::string_view name,
                                            std::string_view version) {
  return capability_prefix(level, name).append(version);
}

}  // namespace duramen::inline v0::providers
