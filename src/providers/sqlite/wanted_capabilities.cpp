#include "providers/sqlite/wanted_capabilities.hpp"

#include "providers/common/capability.hpp"

#include <algorithm>
#include <utility>

namespace duramen::inline v0::sqlite::detail {

namespace {

// With more levels than this, a fetch looks at all entries. Only tests ask so.
constexpr std::uint32_t most_levels = 64;

bool same(const std::optional<std::vector<RegisteredOrchestration>>& a,
          const std::optional<std::vector<RegisteredOrchestration>>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return std::ranges::equal(*a, *b, [](const RegisteredOrchestration& x, const RegisteredOrchestration& y) {
    return x.name == y.name && x.versions == y.versions;
  });
}

}  // namespace

bool WantedCapabilities::is_prepared_for(const TurnFetch& request) const {
  return prepared_ && min_level_ == request.min_engine_version && max_level_ == request.max_engine_version &&
         same(orchestrations_, request.orchestrations);
}

void WantedCapabilities::prepare(const TurnFetch& request) {
  if (is_prepared_for(request)) return;
  min_level_ = request.min_engine_version;
  max_level_ = request.max_engine_version;
  orchestrations_ = request.orchestrations;
  ranges_.clear();
  prepared_ = true;
  if (min_level_ > max_level_) return;
  if (max_level_ - min_level_ >= most_levels) {
    ranges_.push_back({"", "\xff"});
    return;
  }
  for (std::uint32_t level = min_level_; level <= max_level_; ++level) {
    if (!orchestrations_) {
      add_prefix(std::to_string(level) + "\n");
      continue;
    }
    add(providers::capability(level, "", ""));
    for (const RegisteredOrchestration& known : *orchestrations_) {
      if (known.versions.empty()) {
        add_prefix(providers::capability_prefix(level, known.name));
        continue;
      }
      add(providers::capability(level, known.name, ""));
      for (const std::string& version : known.versions) {
        add(providers::capability(level, known.name, version));
      }
    }
  }
  std::ranges::sort(ranges_, {}, &Range::begin);
  // Names that are registered twice give ranges that overlap.
  std::vector<Range> disjoint;
  for (Range& range : ranges_) {
    if (!disjoint.empty() && range.begin < disjoint.back().end) {
      disjoint.back().end = std::max(disjoint.back().end, range.end);
    } else {
      disjoint.push_back(std::move(range));
    }
  }
  ranges_ = std::move(disjoint);
}

/// All texts with this prefix. No stored text contains the byte 0xff.
void WantedCapabilities::add_prefix(std::string prefix) {
  std::string end = prefix + '\xff';
  ranges_.push_back({std::move(prefix), std::move(end)});
}

/// One text. No stored text contains a NUL.
void WantedCapabilities::add(std::string text) {
  std::string end = text + '\0';
  ranges_.push_back({std::move(text), std::move(end)});
}

const WantedCapabilities::Range* WantedCapabilities::first_ending_after(std::string_view text) const {
  const auto found = std::ranges::upper_bound(ranges_, text, {}, &Range::end);
  return found == ranges_.end() ? nullptr : &*found;
}

std::optional<std::string> WantedCapabilities::next(std::string_view from) const {
  const Range* range = first_ending_after(from);
  if (range == nullptr) return std::nullopt;
  return std::max<std::string_view>(range->begin, from) == from ? std::string(from) : range->begin;
}

bool WantedCapabilities::contains(std::string_view capability) const {
  const Range* range = first_ending_after(capability);
  return range != nullptr && range->begin <= capability;
}

bool WantedCapabilities::can_take(const InstanceRow& row) const {
  if (row.level() < min_level_ || row.level() > max_level_) return false;
  if (!orchestrations_ || row.needs_no_code()) return true;
  const std::string_view version = row.needed_version();
  return std::ranges::any_of(*orchestrations_, [&](const RegisteredOrchestration& known) {
    return known.name == row.name && (version.empty() || known.versions.empty() ||
                                      std::ranges::find(known.versions, version) != known.versions.end());
  });
}

}  // namespace duramen::inline v0::sqlite::detail
