#include "runtime/poison.hpp"

#include <string>

namespace duramen::inline v0::runtime {

Failure poison_failure(const LeasedInstance& leased, std::uint32_t max_attempts) {
  Failure failure;
  failure.kind = FailureKind::poison;
  failure.attempt = leased.attempt;
  if (leased.unreadable) {
    failure.type = "UnreadableMessage";
    failure.message = "a message of the instance cannot be read: " + *leased.unreadable;
  } else {
    failure.type = "PoisonInstance";
    failure.message = "a turn of \"" + leased.name + "\" was tried " + std::to_string(leased.attempt - 1) +
                      " times without finishing (limit " + std::to_string(max_attempts) +
                      "): does its code crash the process, or is it registered nowhere?";
  }
  return failure;
}

Failure poison_failure(const LeasedActivity& leased, std::uint32_t max_attempts) {
  Failure failure;
  failure.kind = FailureKind::poison;
  failure.attempt = leased.attempt;
  if (leased.unreadable) {
    failure.type = "UnreadableActivity";
    failure.message = "the activity cannot be read: " + *leased.unreadable;
  } else {
    failure.type = "PoisonActivity";
    failure.message = "activity '" + leased.request.name + "' was handed out " +
                      std::to_string(leased.attempt - 1) + " times without finishing (limit " +
                      std::to_string(max_attempts) +
                      "): does it crash its process, or block longer than its lease?";
  }
  return failure;
}

}  // namespace duramen::inline v0::runtime
