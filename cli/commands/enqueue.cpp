// duramen enqueue: sends a message to a queue of an instance. First in, first out; each message has one
// taker.
#include "commands.hpp"
#include "delivery.hpp"
#include "payload.hpp"

namespace duramen::cli {

Result<Answer> run(Session& session, const EnqueueArguments& arguments) {
  Result<Payload> data = read_payload(arguments.data, "--data");
  if (!data) return data.error();
  Result<EnqueueOutcome> outcome =
      session.client.enqueue_event(arguments.instance, arguments.queue, *data, arguments.message_id);
  if (!outcome) return outcome.error();
  return delivery(arguments.instance, "the message for the queue " + arguments.queue, *outcome);
}

}  // namespace duramen::cli
