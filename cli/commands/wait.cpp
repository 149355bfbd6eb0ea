// duramen wait: waits until instances have ended. Prints one line for each, in the given order.
#include "commands.hpp"
#include "text.hpp"

#include <chrono>

namespace duramen::cli {

namespace {

Answer end_of(const InstanceId& instance, const InstanceState& state) {
  Answer answer;
  JsonObject object;
  object.add("instance_id", instance).add("status", to_string(state.status));
  add_payload(object, "output", state.output);
  object.add("failure", state.failure ? to_json(*state.failure) : Json());
  answer.documents.push_back(object);

  std::string how = instance.value + " " + std::string(to_string(state.status));
  const std::string why = state.failure ? failure_detail(state.status, *state.failure) : "";
  if (!why.empty()) how += ": " + why;
  if (state.output) how += ": " + in_short(*state.output, 100'000);
  answer.page.emplace_back(Text{std::move(how), status_cell(state.status).tone});
  if (state.status != Status::completed) answer.exit = ExitCode::no;
  return answer;
}

}  // namespace

Result<Answer> run(Session& session, const WaitArguments& arguments) {
  using Steady = std::chrono::steady_clock;
  const auto began = Steady::now();
  Answer last;
  for (const InstanceId& instance : arguments.instances) {
    Duration left = Duration::max();
    if (arguments.timeout) {
      left = *arguments.timeout - std::chrono::duration_cast<Duration>(Steady::now() - began);
      left = std::max(left, Duration::zero());
    }
    Result<InstanceState> state = session.client.wait(instance, left);
    if (!state && state.error().code == ErrorCode::timed_out) {
      return Error{ErrorCode::timed_out, "wait",
                   "\"" + instance.value + "\" has not ended by now; duramen explain " + instance.value +
                       " shows what it waits for",
                   false};
    }
    if (!state) return state.error();
    const Answer end = end_of(instance, *state);
    if (!session.context.emit(end)) return Answer{};
    if (end.exit != ExitCode::ok) last.exit = end.exit;
  }
  return last;
}

}  // namespace duramen::cli
