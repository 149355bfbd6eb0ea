// Does the code still do what history says it did? One table of what is compared:
//
//   activity           name, input (as normalised JSON), tag, session
//   timer              position only: a changed duration is not an error, the recorded due time stands
//   external wait      name                     queue wait       name
//   sub-orchestration  name, input, version, explicit id
//   detached start     name, instance, input, version
//   custom status      position only            KV set           key, value        KV clear  key
//
// Reasons, stamps and options are not compared.
#pragma once

#include <source_location>
#include <string>

#include <duramen/history.hpp>

namespace duramen::inline v0::core {

[[nodiscard]] bool same_action(const EventBody& recorded, const EventBody& now);

/// One line for a person: `activity "Charge" with input {"id":7}`.
[[nodiscard]] std::string describe_action(const EventBody& body);

/// The text of a nondeterminism failure: a small diff, where in the code, and what to do about it.
[[nodiscard]] std::string describe_mismatch(EventId event, const std::string& recorded, const std::string& now,
                                            const std::source_location* where);

}  // namespace duramen::v0::core
