// duramen start: starts an instance, and waits for its end if requested.
#include "commands.hpp"
#include "payload.hpp"
#include "text.hpp"

#include <array>
#include <cstdio>
#include <random>

namespace duramen::cli {

namespace {

InstanceId made_up_id(const std::string& orchestration) {
  std::random_device device;
  std::array<char, 20> text{};
  std::snprintf(text.data(), text.size(), "-%08x%08x", static_cast<unsigned>(device()),
                static_cast<unsigned>(device()));
  return InstanceId(orchestration + text.data());
}

}  // namespace

Result<Answer> run(Session& session, const StartArguments& arguments) {
  Result<Payload> input = read_payload(arguments.input, "--input");
  if (!input) return input.error();
  const InstanceId instance =
      arguments.instance.empty() ? made_up_id(arguments.orchestration) : arguments.instance;
  StartOptions options;
  options.version = arguments.version;
  options.reuse = arguments.replace ? IdReuse::replace_when_final : IdReuse::reject;
  Result<StartOutcome> outcome = session.client.start(instance, arguments.orchestration, *input, options);
  if (!outcome) return outcome.error();

  const bool created = *outcome == StartOutcome::created;
  Answer answer;
  answer.documents.push_back(
      JsonObject().add("instance_id", instance).add("outcome", created ? "created" : "exists"));
  answer.page.emplace_back(Verbatim{printable(instance.value) + "\n"});
  if (!created) answer.notes.emplace_back("it was started before, with the same input");
  if (!arguments.wait) return answer;
  if (!session.context.emit(answer)) return Answer{};
  return run(session, WaitArguments{{instance}, arguments.timeout});
}

}  // namespace duramen::cli
