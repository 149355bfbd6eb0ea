#include "runtime/poison.hpp"

#include <algorithm>
#include <string>

namespace duramen::inline v0::runtime {

namespace {

std::string times(std::uint32_t count) { return count == 1 ? "once" : std::to_string(count) + " times"; }

void add(std::string& list, const std::string& part) { list += (list.empty() ? "" : "; ") + part; }

}  // namespace

Failure poison_failure(const LeasedInstance& leased, std::uint32_t max_attempts,
                       const LostAttempts::Counts& seen) {
  Failure failure;
  failure.kind = FailureKind::poison;
  failure.attempt = leased.attempt;
  if (leased.unreadable) {
    failure.type = "UnreadableMessage";
    failure.message = "a message of the instance cannot be read: " + *leased.unreadable;
    return failure;
  }
  const std::uint32_t tried = leased.attempt - 1;
  const std::uint32_t known = std::min(seen.blocked + seen.lost, tried);
  std::string what;
  if (seen.blocked > 0) {
    add(what, times(seen.blocked) +
                  " it ran for longer than max_turn_time on this node: orchestration code " +
                  "must not block");
  }
  if (seen.lost > 0) add(what, times(seen.lost) + " its lease was lost on this node before it was stored");
  if (tried > known) {
    add(what,
        times(tried - known) + (known > 0 ? " more" : "") +
            " no node has stored it: does its code crash the process, or did another node lose the lease?");
  }
  failure.type = "PoisonInstance";
  failure.message = "a turn of \"" + leased.name + "\" was tried " + times(tried) +
                    " without being stored (limit " + std::to_string(max_attempts) + "): " + what;
  return failure;
}

Failure poison_failure(const LeasedActivity& leased, std::uint32_t max_attempts, std::uint32_t lost) {
  Failure failure;
  failure.kind = FailureKind::poison;
  failure.attempt = leased.attempt;
  if (leased.unreadable) {
    failure.type = "UnreadableActivity";
    failure.message = "the activity cannot be read: " + *leased.unreadable;
    return failure;
  }
  const std::uint32_t tried = leased.attempt - 1;
  const std::uint32_t known = std::min(lost, tried);
  std::string what;
  if (known > 0) {
    add(what, times(known) + " its lease was lost on this node: the store did not answer in time, or the " +
                  "process stood still");
  }
  if (tried > known) {
    add(what, times(tried - known) + (known > 0 ? " more" : "") +
                  " its node did not end it: does it crash its process, or did another node lose the lease?");
  }
  failure.type = "PoisonActivity";
  failure.message = "activity '" + leased.request.name + "' was handed out " + times(tried) +
                    " without finishing (limit " + std::to_string(max_attempts) + "): " + what;
  return failure;
}

}  // namespace duramen::inline v0::runtime
