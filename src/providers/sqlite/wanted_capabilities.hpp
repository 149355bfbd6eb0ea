// The capabilities that a fetch asks for, in the order in which the index of entries has them.
#pragma once

#include "providers/sqlite/instances.hpp"
#include <duramen/provider.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace duramen::inline v0::sqlite::detail {

class WantedCapabilities {
 public:
  /// Takes over a new request. Cheap if the node asks as it did before.
  void prepare(const TurnFetch& request);

  /// The first wanted text at or after `from`, or a text before it at which a search may begin. Empty: there
  /// is none.
  [[nodiscard]] std::optional<std::string> next(std::string_view from) const;
  [[nodiscard]] bool contains(std::string_view capability) const;
  /// Judges an instance by its row, which decides.
  [[nodiscard]] bool can_take(const InstanceRow& row) const;

 private:
  /// All texts t with begin <= t < end.
  struct Range {
    std::string begin;
    std::string end;
  };

  [[nodiscard]] bool is_prepared_for(const TurnFetch& request) const;
  void add_prefix(std::string prefix);
  void add(std::string text);
  [[nodiscard]] const Range* first_ending_after(std::string_view text) const;

  bool prepared_ = false;
  std::uint32_t min_level_ = 0;
  std::uint32_t max_level_ = 0;
  std::optional<std::vector<RegisteredOrchestration>> orchestrations_;
  std::vector<Range> ranges_;  // disjoint, in order
};

}  // namespace duramen::inline v0::sqlite::detail
