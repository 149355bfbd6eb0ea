// The invariants. Each check returns a sentence about the violation, or nothing.
#pragma once

#include "core/property/engine.hpp"
#include "core/property/rng.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace duramen::core_test::property {

using Finding = std::optional<std::string>;

/// One execution as it was committed.
struct Record {
  Subject subject;
  std::vector<Event> history;
  std::vector<std::uint64_t> entropies;  // of the turn that added each event
  bool imposed = false;                  // the engine ended it: the last segment has no message that made it
};

[[nodiscard]] Finding compare_outcomes(const core::TurnOutcome& expected, const core::TurnOutcome& actual);
/// A turn is whole segments, in order, numbered without a gap; nothing is cancelled twice; waits end with the
/// rest.
[[nodiscard]] Finding check_shape(const core::TurnOutcome& turn, const std::vector<Event>& history);
/// Cut at every segment end, a history runs on from there as it did.
[[nodiscard]] Finding check_prefixes(const Record& record, const EngineFactory& factory);
/// Other code on this history is reported where it decides otherwise, and only there. `changed` is that code.
[[nodiscard]] Finding check_change(const Record& record, std::shared_ptr<const OrchestrationHandler> changed,
                                   const EngineFactory& factory, Rng& rng, std::size_t& reported);

/// Events in interchange form, one to a line.
[[nodiscard]] std::string to_text(const std::vector<Event>& events);
/// Everything that a turn decided, in interchange form.
[[nodiscard]] std::string to_text(const core::TurnOutcome& turn);

}  // namespace duramen::core_test::property
