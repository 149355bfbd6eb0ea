// An explanation in words.
#pragma once

#include <duramen/explanation.hpp>

#include <string>

namespace duramen::inline v0::client {

/// The state of an instance, as a sentence without its subject: "is running: ...".
[[nodiscard]] std::string status_sentence(const InstanceInfo& info, TimePoint now);

/// The name of a wait, without its progress: "activity 'Charge' (event 2)".
[[nodiscard]] std::string name_of(Waiting::Kind kind, EventId event, const std::string& name);

/// The age of a point in time, or "just now".
[[nodiscard]] std::string ago(TimePoint then, TimePoint now);

/// The predicate of a finding: "is stuck".
[[nodiscard]] std::string_view in_words(Explanation::Finding::Kind kind) noexcept;

/// "it lost a race against something that was ready first".
[[nodiscard]] std::string_view in_words(CancelReason reason) noexcept;

/// The whole explanation, in lines.
[[nodiscard]] std::string full_text(const Explanation& explanation, TimePoint now);

}  // namespace duramen::inline v0::client
