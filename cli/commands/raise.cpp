// duramen raise: sends an event to an instance.
#include "commands.hpp"
#include "delivery.hpp"
#include "payload.hpp"

namespace duramen::cli {

Result<Answer> run(Session& session, const RaiseArguments& arguments) {
  Result<Payload> data = read_payload(arguments.data, "--data");
  if (!data) return data.error();
  Result<EnqueueOutcome> outcome =
      session.client.raise_event(arguments.instance, arguments.event, *data, arguments.message_id);
  if (!outcome) return outcome.error();
  return delivery(arguments.instance, "the event " + arguments.event, *outcome);
}

}  // namespace duramen::cli
