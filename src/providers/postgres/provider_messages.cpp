// The part of the Provider interface that starts instances and sends messages.
#include "providers/common/start_digest.hpp"
#include "providers/postgres/error.hpp"
#include "providers/postgres/message_columns.hpp"
#include "providers/postgres/provider.hpp"

#include <utility>

namespace duramen::inline v0::postgres::detail {

Result<std::vector<StartOutcome>> PostgresProvider::start_instances(std::span<const StartRequest> requests) {
  return guarded("start_instances", [&]() -> Result<std::vector<StartOutcome>> {
    if (requests.empty()) return std::vector<StartOutcome>{};
    TextColumn target, item, name, version;
    BigintColumn digest;
    BooleanColumn reuse;
    ParentColumns parent;
    for (const StartRequest& request : requests) {
      target.add(request.instance.value);
      item.add(to_json(MessageBody{request.start}, request.instance));
      name.add(request.start.orchestration);
      version.add(request.start.version);
      digest.add(providers::start_digest(request.start));
      reuse.add(request.reuse == IdReuse::replace_when_final);
      parent.add(request.start.parent);
    }
    const TransactionTime now = transaction_time();
    Parameters parameters;
    parameters.number(now.now).number(now.lease_now);
    parameters.add(std::move(target)).add(std::move(item)).add(std::move(name)).add(std::move(version));
    parameters.add(std::move(digest)).add(std::move(reuse));
    parent.take_into(parameters);
    const Rows rows = write(queries_.start_instances, parameters);

    std::vector<StartOutcome> outcomes;
    providers::Notices notices;
    for (const std::int64_t outcome : rows.integers(0, 0)) {
      outcomes.push_back(static_cast<StartOutcome>(outcome));
      if (outcomes.back() != StartOutcome::created) continue;
      notices.turns_ready = true;
      notices.instances.push_back({requests[outcomes.size() - 1].instance, Status::pending});
    }
    notices.stolen = rows.stolen_leases(0, 1);
    announce(notices);
    return outcomes;
  });
}

Result<std::vector<EnqueueOutcome>> PostgresProvider::enqueue_messages(
    std::span<const OutboundMessage> messages) {
  return guarded("enqueue_messages", [&]() -> Result<std::vector<EnqueueOutcome>> {
    if (messages.empty()) return std::vector<EnqueueOutcome>{};
    MessageColumns columns;
    for (const OutboundMessage& message : messages) columns.add(message);
    const TransactionTime now = transaction_time();
    Parameters parameters;
    parameters.number(now.now).number(now.lease_now);
    columns.take_into(parameters);
    const Rows rows = write(queries_.enqueue_messages, parameters);

    std::vector<EnqueueOutcome> outcomes;
    providers::Notices notices;
    for (const std::int64_t outcome : rows.integers(0, 0)) {
      outcomes.push_back(static_cast<EnqueueOutcome>(outcome));
      if (outcomes.back() == EnqueueOutcome::enqueued) notices.turns_ready = true;
    }
    announce(notices);
    return outcomes;
  });
}

}  // namespace duramen::inline v0::postgres::detail
