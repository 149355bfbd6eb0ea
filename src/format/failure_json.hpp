// A Failure as JSON, in both forms.
//
// Interchange: the contract's ErrorDetails, tagged from outside, plus optional members so that nothing is
// lost.
//
//   kind            JSON
//   application     {"Application":{"kind":"ActivityFailed" |
//   "OrchestrationFailed","message":m,"retryable":r}}
//                   type "Panicked" is {"Application":{"kind":"Panicked",...}}; any other type is the member
//                   `type`
//   timeout         {"Application":{"kind":{"Timeout":{"which":"start_to_close"}},"message":m,"retryable":r}}
//   cancelled       {"Application":{"kind":{"Cancelled":{"reason":m}},"message":"","retryable":r}}
//   poison          {"Poison":{"attempt_count":attempt,"max_attempts":..,"message_type":{..},"message":m}}
//                   max_attempts and message_type are `details` {"max_attempts":..,"message_type":..} taken
//                   apart; with any other details both are absent and `details` is written as it is
//   nondeterminism  {"Configuration":{"kind":"Nondeterminism","resource":type,"message":m}}
//   limit           {"Configuration":{"kind":"Limit","resource":type,"message":m}}
//   infrastructure  {"Infrastructure":{"operation":type,"message":m,"retryable":r}}
//
// Further members, each left out when it has its default: type (where no contract field holds it), retryable
// (if true, where the contract has none), details, attempt (poison has attempt_count), timeout (if set on
// another kind).
//
// Stored: {"k":kind,"y":type,"m":message,"r":retryable,"d":details,"a":attempt,"w":timeout}; only "k" is
// always present.
#pragma once

#include "base/json_writer.hpp"
#include <duramen/detail/json_value.hpp>
#include <duramen/failure.hpp>

#include <string>
#include <string_view>

namespace duramen::format {

/// `thrower` is the contract's name for an application failure here: "ActivityFailed" or
/// "OrchestrationFailed".
void write_failure(base::JsonWriter& json, const Failure& failure, std::string_view thrower);
void read_failure(const detail::JsonValue& value, Failure& out, std::string& problem);

void write_stored_failure(base::JsonWriter& json, const Failure& failure);
void read_stored_failure(const detail::JsonValue& value, Failure& out, std::string& problem);

}  // namespace duramen::format
