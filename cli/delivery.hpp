// The outcome of a message to an instance, in the same words for raise and enqueue.
#pragma once

#include "answer.hpp"
#include <duramen/ids.hpp>
#include <duramen/provider.hpp>

#include <string>

namespace duramen::cli {

[[nodiscard]] inline Answer delivery(const InstanceId& instance, const std::string& what,
                                     EnqueueOutcome outcome) {
  struct Words {
    const char* name;
    std::string sentence;
  };
  const auto words = [&]() -> Words {
    switch (outcome) {
      case EnqueueOutcome::enqueued:
        return {"enqueued", what + " is on its way to " + instance.value};
      case EnqueueOutcome::duplicate:
        return {"duplicate", instance.value + " was sent a message with that id before; nothing changes"};
      case EnqueueOutcome::parked:
        return {"parked",
                "there is no instance " + instance.value + " yet; " + what + " is kept for it for a while"};
      case EnqueueOutcome::finished:
        return {"finished", instance.value + " has ended; " + what + " was not sent"};
      case EnqueueOutcome::not_found:
        break;
    }
    return {"not_found", "there is no instance " + instance.value};
  }();
  Answer answer;
  answer.documents.push_back(JsonObject().add("instance_id", instance).add("outcome", words.name));
  answer.page.emplace_back(Text{words.sentence});
  if (outcome == EnqueueOutcome::finished) answer.exit = ExitCode::no;
  if (outcome == EnqueueOutcome::not_found) answer.exit = ExitCode::not_found;
  return answer;
}

}  // namespace duramen::cli
