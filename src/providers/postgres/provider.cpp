#include "providers/postgres/provider.hpp"

#include "base/guarded.hpp"
#include "providers/common/start_digest.hpp"
#include "providers/common/unreadable_messages.hpp"
#include "providers/common/unreadable_row.hpp"
#include "providers/postgres/encoding.hpp"
#include "providers/postgres/error.hpp"
#include "providers/postgres/identifier.hpp"
#include "providers/postgres/instance_info.hpp"
#include "providers/postgres/leased_activities.hpp"
#include "providers/postgres/message_columns.hpp"
#include "providers/postgres/schema.hpp"
#include "providers/postgres/turn_columns.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace duramen::inline v0::postgres::detail {

namespace {

// No holder keeps a lease for longer than this without a renewal.
constexpr Duration own_stolen_kept_for = std::chrono::minutes{10};
// A fetch of more than this is worth a plan of its own.
constexpr std::size_t many = 1000;
// So often is a call sent that others overtake; twice is rare.
constexpr int most_attempts = 5;

/// Does it again while others overtake it.
template <class Call>
auto until_not_overtaken(Call call) -> decltype(call()) {
  for (int attempt = 1;; ++attempt) {
    try {
      return call();
    } catch (const SqlError& error) {
      if (!was_overtaken(error) || attempt == most_attempts) throw;
    }
  }
}

std::size_t limit_of(std::size_t limit) { return std::min<std::size_t>(limit, 1u << 30); }

/// A start that nobody is told of if it is refused.
bool is_detached_start(const OutboundMessage& message) {
  return std::holds_alternative<message::StartOrchestration>(message.body) && !message.if_refused;
}

/// `taken` are ids that were taken before the batch.
void note_refused_starts(std::span<const TurnCommit> commits, std::set<InstanceId> taken,
                         std::vector<CommitResult>& results) {
  for (std::size_t i = 0; i < commits.size(); ++i) {
    if (results[i].outcome == CommitOutcome::committed &&
        std::holds_alternative<FusedStart>(commits[i].basis))
      taken.insert(commits[i].instance);
  }
  for (std::size_t i = 0; i < commits.size(); ++i) {
    if (results[i].outcome != CommitOutcome::committed) continue;
    for (const OutboundMessage& message : commits[i].messages) {
      if (!std::holds_alternative<message::StartOrchestration>(message.body)) continue;
      const bool free = taken.insert(message.target).second;
      if (!free && is_detached_start(message)) results[i].refused_starts.push_back(message.target);
    }
  }
}

/// For comparing; no event has so large a number that it makes a difference.
std::int64_t event_number(EventId id) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(id.value, (1ull << 63) - 2));
}

/// The events of rows `from` to `to`, each of which holds a turn, without those that were not asked for.
Result<std::vector<Event>> read_events(const Rows& rows, int from, int to, const HistoryRequest& request) {
  std::vector<Event> events;
  for (int row = from; row < to; ++row) {
    const EventContext context{request.instance, request.execution};
    if (auto decoded = decode_events(rows.text(row, 0), context, events); !decoded) return decoded.error();
  }
  const auto first =
      std::ranges::find_if(events, [&](const Event& event) { return event.id > request.after; });
  events.erase(events.begin(), first);
  return events;
}

std::optional<TimePoint> time_or_nothing(const Rows& rows, int row, int column) {
  if (rows.is_null(row, column)) return std::nullopt;
  return from_unix_ms(rows.integer(row, column));
}

/// The log is called on threads of ours and from callbacks of libpq, where nothing may be thrown.
Options with_guarded_log(Options options) {
  options.log = base::guarded(std::move(options.log));
  return options;
}

}  // namespace

PostgresProvider::PostgresProvider(const Options& options)
    : options_(with_guarded_log(options)),
      schema_(quoted_identifier(options.schema)),
      queries_(schema_),
      random_(std::random_device{}() | (std::uint64_t{std::random_device{}()} << 32)),
      pool_(options_, server_clock_, counters_),
      announcer_(options_, listeners_, server_clock_, counters_) {
  announcer_.on_announcement([this](const Announcement&) { empty_fetches_.invalidate(); });
  const Pool::Loan connection = pool_.take();
  open_schema(*connection, options_.schema, options_.migrate);
}

Counters PostgresProvider::counters() const noexcept {
  return {.queries = counters_.queries,
          .listener_queries = counters_.listener_queries,
          .connections_opened = counters_.connections_opened,
          .notifications_sent = counters_.notifications_sent,
          .notifications_received = counters_.notifications_received,
          .unreadable_messages = counters_.unreadable_messages};
}

Rows PostgresProvider::run(const Query& query, const Parameters& parameters, bool for_many) {
  const Pool::Loan connection = pool_.take();
  if (for_many) connection->forget_plans();
  ++counters_.queries;
  return connection->run(query, parameters);
}

Rows PostgresProvider::write(const Query& query, const Parameters& parameters) {
  Rows rows = until_not_overtaken([&] { return run(query, parameters); });
  empty_fetches_.invalidate();
  return rows;
}

Rows PostgresProvider::read(const Query& query, const Parameters& parameters) {
  try {
    return run(query, parameters);
  } catch (const ConnectionError&) {
    return run(query, parameters);
  }
}

TransactionTime PostgresProvider::transaction_time() const {
  if (options_.clock == nullptr) return {};
  return {to_unix_ms(options_.clock->now()), options_.clock->lease_now().time_since_epoch().count()};
}

std::int64_t PostgresProvider::new_token() {
  const std::lock_guard lock(random_mutex_);
  return static_cast<std::int64_t>(random_() >> 2) + 1;
}

void PostgresProvider::announce(const providers::Notices& notices) {
  if (!notices.any()) return;
  try {
    announcer_.announce(notices);
    listeners_.notify(notices);
  } catch (const std::bad_alloc&) {
    // What there is to tell is stored: the call has succeeded, and polling finds it.
    if (duramen::detail::mutant("a_lost_hint_fails_the_stored_call")) throw;
  }
}

// -- starting and messaging -----------------------------------------------------------------------

Result<std::vector<StartOutcome>> PostgresProvider::start_instances(std::span<const StartRequest> requests) {
  return guarded("start_instances", [&]() -> Result<std::vector<StartOutcome>> {
    if (requests.empty()) return std::vector<StartOutcome>{};
    TextColumn target, item, name;
    BigintColumn digest;
    BooleanColumn reuse;
    ParentColumns parent;
    for (const StartRequest& request : requests) {
      target.add(request.instance.value);
      item.add(to_json(MessageBody{request.start}, request.instance));
      name.add(request.start.orchestration);
      digest.add(providers::start_digest(request.start));
      reuse.add(request.reuse == IdReuse::replace_when_final);
      parent.add(request.start.parent);
    }
    const TransactionTime now = transaction_time();
    Parameters parameters;
    parameters.number(now.now).number(now.lease_now);
    parameters.add(std::move(target)).add(std::move(item)).add(std::move(name)).add(std::move(digest));
    parameters.add(std::move(reuse));
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
    Parameters parameters;
    parameters.number(transaction_time().now);
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

// -- turns ----------------------------------------------------------------------------------------

LeasedInstance PostgresProvider::read_leased_instance(const Rows& rows, int row) {
  enum {
    key,
    instance_id,
    orchestration,
    version,
    status,
    execution,
    last_event_id,
    message_ids,
    attempts,
    items,
    keys,
    values,
    encodings,
    updated_at,
    token
  };
  LeasedInstance item{.instance = InstanceId{rows.text(row, instance_id)},
                      .incarnation = Incarnation{rows.number(row, key)},
                      .lease = LeaseToken{rows.number(row, token)},
                      .execution = ExecutionId{rows.number(row, execution)},
                      .status = providers::status_or_running(rows.text(row, status)),
                      .name = rows.string(row, orchestration),
                      .version = rows.string(row, version),
                      .last_event_id = EventId{rows.number(row, last_event_id)}};
  const auto ids = rows.integers(row, message_ids);
  const auto counts = rows.integers(row, attempts);
  const auto texts = rows.texts(row, items);
  providers::UnreadableMessages unreadable;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto attempt = static_cast<std::uint32_t>(counts.at(i));
    item.attempt = std::max(item.attempt, attempt);
    auto message = message_from_json(texts[i], item.instance);
    if (message) {
      item.messages.push_back({std::move(*message), attempt});
    } else {
      unreadable.add(ids.at(i), message.error().message);
    }
  }
  item.unreadable = unreadable.description();
  counters_.unreadable_messages += unreadable.count();
  const auto value_keys = rows.texts(row, keys);
  const auto value_texts = rows.texts(row, values);
  const auto value_encodings = rows.texts(row, encodings);
  const auto value_times = rows.integers(row, updated_at);
  for (std::size_t i = 0; i < value_keys.size(); ++i) {
    item.key_values.emplace(value_keys[i],
                            KeyValueEntry{make_payload(value_texts.at(i), value_encodings.at(i)),
                                          from_unix_ms(value_times.at(i))});
  }
  return item;
}

Result<TurnBatch> PostgresProvider::fetch_turns(const TurnFetch& request) {
  return guarded("fetch_turns", [&]() -> Result<TurnBatch> {
    TurnBatch batch;
    if (request.limit == 0) return batch;
    std::string question;
    if (receives_announcements()) {
      question = cache_key(request);
      if (const auto known = empty_fetches_.answer(question, clock().now())) {
        batch.next_due = known->next_due;
        return batch;
      }
    }
    const std::uint64_t generation = empty_fetches_.generation();
    const LeaseTime sent = clock().lease_now();
    const TransactionTime now = transaction_time();
    Parameters parameters;
    parameters.number(now.now)
        .number(now.lease_now)
        .index(limit_of(request.limit))
        .number(whole(request.lease));
    parameters.number(new_token());
    parameters.index(std::min(request.min_engine_version, 0x7fff'ffffu));
    parameters.index(std::min(request.max_engine_version, 0x7fff'ffffu));
    if (request.orchestrations) {
      TextColumn names, versions;
      for (const RegisteredOrchestration& known : *request.orchestrations) {
        if (known.versions.empty()) {
          names.add(known.name);
          versions.add(std::nullopt);
        }
        for (const std::string& version : known.versions) {
          names.add(known.name);
          versions.add(version);
        }
      }
      parameters.add(std::move(names)).add(std::move(versions));
    } else {
      parameters.no_texts().no_texts();
    }
    const Rows rows = run(queries_.fetch_turns, parameters);
    for (int row = 0; row < rows.count(); ++row) {
      if (rows.is_null(row, 0)) {
        batch.next_due = time_or_nothing(rows, row, 15);
        continue;
      }
      LeasedInstance item = read_leased_instance(rows, row);
      item.lease_until = sent + Duration{whole(request.lease)};
      batch.items.push_back(std::move(item));
    }
    if (batch.items.empty() && !question.empty())
      empty_fetches_.remember(question, generation, {batch.next_due});
    return batch;
  });
}

Result<std::vector<Event>> PostgresProvider::read_history(const InstanceId& instance, ExecutionId execution,
                                                          EventId after) {
  return guarded("read_history", [&]() -> Result<std::vector<Event>> {
    Parameters parameters;
    parameters.text(instance.value).number(static_cast<std::int64_t>(execution.value));
    parameters.number(event_number(after));
    const Rows rows = read(queries_.history, parameters);
    return read_events(rows, 0, rows.count(), {instance, execution, after});
  });
}

std::vector<Result<std::vector<Event>>> PostgresProvider::read_histories(
    std::span<const HistoryRequest> requests) {
  if (requests.empty()) return {};
  auto all = guarded("read_histories", [&]() -> Result<std::vector<Result<std::vector<Event>>>> {
    TextColumn instances;
    BigintColumn executions, afters;
    for (const HistoryRequest& request : requests) {
      instances.add(request.instance.value);
      executions.add(request.execution.value);
      afters.add(event_number(request.after));
    }
    Parameters parameters;
    parameters.add(std::move(instances)).add(std::move(executions)).add(std::move(afters));
    const Rows rows = read(queries_.histories, parameters);
    std::vector<Result<std::vector<Event>>> histories;
    histories.reserve(requests.size());
    int from = 0;
    for (std::size_t place = 0; place < requests.size(); ++place) {
      int to = from;
      while (to < rows.count() && rows.number(to, 1) == place + 1) ++to;
      histories.push_back(read_events(rows, from, to, requests[place]));
      from = to;
    }
    return histories;
  });
  if (all) return std::move(*all);
  // One of them cannot be asked for; the others can.
  if (!all.error().retryable) return Provider::read_histories(requests);
  return std::vector<Result<std::vector<Event>>>(requests.size(), Result<std::vector<Event>>{all.error()});
}

std::vector<Incarnation> PostgresProvider::reserve_numbers(std::span<const TurnCommit> commits) {
  std::vector<Incarnation> numbers(commits.size());
  const auto wanted = static_cast<std::size_t>(std::ranges::count_if(commits, needs_number));
  if (wanted == 0) return numbers;
  Parameters parameters;
  parameters.index(wanted);
  const Rows rows = run(queries_.reserve_numbers, parameters);
  int next = 0;
  for (std::size_t i = 0; i < commits.size(); ++i) {
    if (needs_number(commits[i])) numbers[i] = Incarnation{rows.number(next++, 0)};
  }
  return numbers;
}

std::set<InstanceId> PostgresProvider::ids_taken_before(std::span<const TurnCommit> commits) {
  std::set<InstanceId> taken;
  TextColumn ids;
  bool any = false;
  for (const TurnCommit& commit : commits) {
    for (const OutboundMessage& message : commit.messages) {
      if (!is_detached_start(message)) continue;
      ids.add(message.target.value);
      any = true;
    }
  }
  if (!any) return taken;
  Parameters parameters;
  parameters.add(std::move(ids));
  const Rows rows = read(queries_.taken_ids, parameters);
  for (int row = 0; row < rows.count(); ++row) taken.insert(InstanceId(std::string(rows.text(row, 0))));
  return taken;
}

void PostgresProvider::collect_notices(std::span<const TurnCommit> commits,
                                       const std::vector<CommitResult>& results,
                                       providers::Notices& notices) {
  const LeaseTime now = clock().lease_now();
  for (std::size_t i = 0; i < commits.size(); ++i) {
    if (results[i].outcome != CommitOutcome::committed) continue;
    const TurnCommit& commit = commits[i];
    notices.instances.push_back({commit.instance, commit.change.status, commit.node});
    if (!commit.cancel_rest) {
      notices.activities_ready |= std::ranges::any_of(
          commit.new_activities, [](const NewActivity& item) { return !item.born_leased; });
    }
    for (const StolenLease& stolen : results[i].stolen) {
      if (stolen.owner == commit.node) {
        own_stolen_.add(stolen.lease, stolen.reason, now + own_stolen_kept_for, now);
      } else {
        notices.stolen.push_back(stolen);
      }
    }
  }
}

Result<std::vector<CommitResult>> PostgresProvider::commit_turns(std::span<const TurnCommit> commits,
                                                                 const std::stop_token& preempt) {
  return guarded("commit_turns", [&]() -> Result<std::vector<CommitResult>> {
    // One statement for all of them: once it is on its way, it cannot be cut short.
    if (commits.empty() || preempt.stop_requested()) return std::vector<CommitResult>{};
    const std::vector<Incarnation> numbers = reserve_numbers(commits);
    std::set<InstanceId> taken = ids_taken_before(commits);
    TurnColumns batch;
    for (std::size_t i = 0; i < commits.size(); ++i) batch.add(commits[i], numbers[i]);
    providers::Notices notices;
    std::vector<CommitResult> results;
    try {
      TurnAnswer answer =
          read_turn_answer(write(queries_.commit_turns, batch.take(transaction_time())), commits);
      results = std::move(answer.results);
      notices.stolen = std::move(answer.erased);
      notices.turns_ready = answer.work_ready;
    } catch (const SqlError& error) {
      if (!concerns_one_entry(error)) throw;
      // One of them cannot be stored. Savepoints would cost every batch something; so only this one pays for
      // them.
      results = until_not_overtaken([&] {
        notices = {};
        return commit_each(commits, numbers, notices);
      });
    }
    note_refused_starts(commits, std::move(taken), results);
    collect_notices(commits, results, notices);
    for (std::size_t i = 0; i < commits.size(); ++i) {
      for (std::size_t a = 0; a < results[i].acks.size(); ++a)
        explain(commits[i].activity_acks[a].lease, results[i].acks[a]);
    }
    announce(notices);
    return results;
  });
}

std::vector<CommitResult> PostgresProvider::commit_each(std::span<const TurnCommit> commits,
                                                        std::span<const Incarnation> numbers,
                                                        providers::Notices& notices) {
  const Pool::Loan connection = pool_.take();
  std::vector<CommitResult> results;
  TurnColumns all;
  for (std::size_t i = 0; i < commits.size(); ++i) all.add(commits[i], numbers[i]);
  connection->run("BEGIN");
  try {
    connection->run(queries_.lock_turns, all.locks());
    for (std::size_t i = 0; i < commits.size(); ++i) {
      TurnColumns batch;
      batch.add(commits[i], numbers[i]);
      connection->run("SAVEPOINT entry");
      try {
        const std::span<const TurnCommit> one = commits.subspan(i, 1);
        TurnAnswer answer =
            read_turn_answer(connection->run(queries_.commit_turns, batch.take(transaction_time())), one);
        results.push_back(std::move(answer.results.front()));
        std::ranges::move(answer.erased, std::back_inserter(notices.stolen));
        notices.turns_ready |= answer.work_ready;
      } catch (const SqlError& error) {
        if (!concerns_one_entry(error)) throw;
        connection->run("ROLLBACK TO entry");
        results.push_back({.outcome = CommitOutcome::invalid,
                           .incarnation = commits[i].incarnation,
                           .message = to_error(error, "").message});
      }
      connection->run("RELEASE entry");
    }
    connection->run("COMMIT");
    empty_fetches_.invalidate();
  } catch (const SqlError&) {
    if (connection->usable()) connection->run("ROLLBACK");
    throw;
  }
  return results;
}

Result<void> PostgresProvider::release_turns(std::span<const TurnRelease> items) {
  return guarded("release_turns", [&]() -> Result<void> {
    if (items.empty()) return {};
    BigintColumn key, token, delay;
    IntegerColumn uncount;
    for (const TurnRelease& item : items) {
      key.add(item.lease.incarnation.value);
      token.add(item.lease.token.value);
      delay.add(whole(item.delay));
      uncount.add(item.count_attempt ? 0u : 1u);
    }
    const TransactionTime now = transaction_time();
    Parameters parameters;
    parameters.number(now.now).number(now.lease_now);
    parameters.add(std::move(key)).add(std::move(token)).add(std::move(delay)).add(std::move(uncount));
    providers::Notices notices;
    notices.turns_ready = write(queries_.abandon_turns, parameters).integer(0, 0) > 0;
    announce(notices);
    return {};
  });
}

Result<std::vector<bool>> PostgresProvider::renew_turns(std::span<const TurnLease> leases, Duration extend) {
  return guarded("renew_turns", [&]() -> Result<std::vector<bool>> {
    std::vector<bool> renewed;
    if (leases.empty()) return renewed;
    BigintColumn key, token;
    for (const TurnLease& lease : leases) {
      key.add(lease.incarnation.value);
      token.add(lease.token.value);
    }
    Parameters parameters;
    parameters.number(transaction_time().lease_now)
        .number(whole(extend))
        .add(std::move(key))
        .add(std::move(token));
    for (const std::int64_t held : run(queries_.renew_turns, parameters).integers(0, 0))
      renewed.push_back(held != 0);
    return renewed;
  });
}

// -- work items -----------------------------------------------------------------------------------

Result<ActivityBatch> PostgresProvider::fetch_activities(const ActivityFetch& request) {
  return guarded("fetch_activities", [&]() -> Result<ActivityBatch> {
    ActivityBatch batch;
    const bool wants_any = request.tags != TagFilter::none() && (!request.names || !request.names->empty());
    if (!wants_any || request.limit == 0) return batch;
    std::string question;
    if (receives_announcements()) {
      question = cache_key(request);
      if (const auto known = empty_fetches_.answer(question, clock().now())) {
        batch.next_due = known->next_due;
        return batch;
      }
    }
    const std::uint64_t generation = empty_fetches_.generation();
    const LeaseTime sent = clock().lease_now();
    const TransactionTime now = transaction_time();
    Parameters parameters;
    parameters.number(now.now).number(now.lease_now).text(request.node.value).index(limit_of(request.limit));
    parameters.number(whole(request.lease)).number(new_token());
    if (request.names) {
      TextColumn names;
      for (const std::string& name : *request.names) names.add(name);
      parameters.add(std::move(names));
    } else {
      parameters.no_texts();
    }
    TextColumn tags, active;
    for (const std::string& tag : request.tags.tags) tags.add(tag);
    parameters.flag(request.tags.untagged).flag(request.tags.every_tag).add(std::move(tags));
    if (request.sessions) {
      const std::set<std::string> in_hand(request.sessions->active.begin(), request.sessions->active.end());
      for (const std::string& session : in_hand) active.add(session);
      parameters.text(request.sessions->owner).number(whole(request.sessions->lease)).add(std::move(active));
      parameters.index(limit_of(request.sessions->max_active));
    } else {
      parameters.text(std::nullopt).number(0).add(std::move(active)).index(0);
    }
    const Rows rows = run(queries_.fetch_work, parameters, request.limit > many);
    for (int row = 0; row < rows.count(); ++row) {
      if (rows.is_null(row, 0)) {
        batch.next_due = time_or_nothing(rows, row, work_next_due);
        continue;
      }
      LeasedActivity item = read_leased_activity(rows, row);
      item.lease_until = sent + Duration{whole(request.lease)};
      batch.items.push_back(std::move(item));
    }
    if (batch.items.empty() && !question.empty())
      empty_fetches_.remember(question, generation, {batch.next_due});
    return batch;
  });
}

void PostgresProvider::explain(const ActivityLease& lease, AckResult& result) const {
  if (result.outcome != AckOutcome::lease_lost) return;
  if (const auto reason = own_stolen_.reason(lease, clock().lease_now()))
    result = {AckOutcome::cancelled, *reason};
}

Result<std::vector<AckResult>> PostgresProvider::ack_activities(std::span<const ActivityAck> acks) {
  return guarded("ack_activities", [&]() -> Result<std::vector<AckResult>> {
    std::vector<AckResult> results;
    if (acks.empty()) return results;
    BigintColumn key, execution, activity, token;
    TextColumn item;
    for (const ActivityAck& ack : acks) {
      key.add(ack.lease.key.incarnation.value);
      execution.add(ack.lease.key.execution.value);
      activity.add(ack.lease.key.activity.value);
      token.add(ack.lease.token.value);
      item.add(completion_json(ack));
    }
    const TransactionTime now = transaction_time();
    Parameters parameters;
    parameters.number(now.now).number(now.lease_now).add(std::move(key)).add(std::move(execution));
    parameters.add(std::move(activity)).add(std::move(token)).add(std::move(item));
    const Rows rows = write(queries_.ack_work, parameters);
    const auto outcomes = rows.integers(0, 0);
    const auto reasons = rows.texts(0, 1);
    for (std::size_t i = 0; i < acks.size(); ++i) {
      results.push_back({static_cast<AckOutcome>(outcomes.at(i)),
                         parse_cancel_reason(reasons.at(i)).value_or(CancelReason{})});
      explain(acks[i].lease, results.back());
    }
    providers::Notices notices;
    notices.turns_ready = rows.integer(0, 2) > 0;
    announce(notices);
    return results;
  });
}

Result<std::vector<RenewResult>> PostgresProvider::renew_activities(std::span<const ActivityRenewal> leases,
                                                                    Duration extend) {
  return guarded("renew_activities", [&]() -> Result<std::vector<RenewResult>> {
    std::vector<RenewResult> results;
    if (leases.empty()) return results;
    BigintColumn key, execution, activity, token;
    BooleanColumn alive;
    TextColumn details, encoding;
    for (const ActivityRenewal& renewal : leases) {
      key.add(renewal.lease.key.incarnation.value);
      execution.add(renewal.lease.key.execution.value);
      activity.add(renewal.lease.key.activity.value);
      token.add(renewal.lease.token.value);
      alive.add(renewal.heartbeat.has_value());
      const bool has_details = renewal.heartbeat && renewal.heartbeat->details;
      details.add(has_details ? std::optional<std::string_view>(renewal.heartbeat->details->data)
                              : std::nullopt);
      encoding.add(has_details
                       ? std::optional<std::string_view>(to_string(renewal.heartbeat->details->encoding))
                       : std::nullopt);
    }
    Parameters parameters;
    parameters.number(transaction_time().lease_now)
        .number(whole(extend))
        .add(std::move(key))
        .add(std::move(execution));
    parameters.add(std::move(activity)).add(std::move(token)).add(std::move(alive)).add(std::move(details));
    parameters.add(std::move(encoding));
    const Rows rows = run(queries_.renew_work, parameters);
    const auto outcomes = rows.integers(0, 0);
    const auto reasons = rows.texts(0, 1);
    for (std::size_t i = 0; i < leases.size(); ++i) {
      RenewResult& result =
          results.emplace_back(RenewResult{static_cast<RenewOutcome>(outcomes.at(i)),
                                           parse_cancel_reason(reasons.at(i)).value_or(CancelReason{})});
      if (result.outcome != RenewOutcome::lease_lost) continue;
      if (const auto reason = own_stolen_.reason(leases[i].lease, clock().lease_now()))
        result = {RenewOutcome::cancelled, *reason};
    }
    return results;
  });
}

Result<void> PostgresProvider::release_activities(std::span<const ActivityRelease> items) {
  return guarded("release_activities", [&]() -> Result<void> {
    if (items.empty()) return {};
    BigintColumn key, execution, activity, token, delay;
    IntegerColumn uncount;
    for (const ActivityRelease& item : items) {
      key.add(item.lease.key.incarnation.value);
      execution.add(item.lease.key.execution.value);
      activity.add(item.lease.key.activity.value);
      token.add(item.lease.token.value);
      delay.add(whole(item.delay));
      uncount.add(item.count_attempt ? 0u : 1u);
    }
    const TransactionTime now = transaction_time();
    Parameters parameters;
    parameters.number(now.now).number(now.lease_now).add(std::move(key)).add(std::move(execution));
    parameters.add(std::move(activity)).add(std::move(token)).add(std::move(delay)).add(std::move(uncount));
    providers::Notices notices;
    notices.activities_ready = write(queries_.abandon_work, parameters).integer(0, 0) > 0;
    announce(notices);
    return {};
  });
}

Result<std::vector<StolenLease>> PostgresProvider::read_stolen_leases(const NodeId& node) {
  return guarded("read_stolen_leases", [&]() -> Result<std::vector<StolenLease>> {
    Parameters parameters;
    parameters.text(node.value).number(transaction_time().lease_now);
    const Rows rows = read(queries_.stolen_leases, parameters);
    std::vector<StolenLease> stolen;
    for (int row = 0; row < rows.count(); ++row) {
      const ActivityKey key{Incarnation{rows.number(row, 0)}, ExecutionId{rows.number(row, 1)},
                            EventId{rows.number(row, 2)}};
      stolen.push_back({node,
                        {key, LeaseToken{rows.number(row, 3)}},
                        parse_cancel_reason(rows.text(row, 4)).value_or(CancelReason::dropped_future)});
    }
    return stolen;
  });
}

// -- reading and listening ------------------------------------------------------------------------

Result<std::optional<InstanceInfo>> PostgresProvider::get_instance(const InstanceId& instance) {
  return guarded("get_instance", [&]() -> Result<std::optional<InstanceInfo>> {
    Parameters parameters;
    parameters.text(instance.value);
    const Rows rows = read(queries_.instance, parameters);
    if (rows.count() == 0) return std::optional<InstanceInfo>{};
    auto info = std::optional(read_info(rows, 0, Results::wanted));
    if (info->unreadable) return providers::unreadable_instance("get_instance", instance, *info->unreadable);
    return info;
  });
}

Result<KeyValues> PostgresProvider::get_key_values(const InstanceId& instance) {
  return guarded("get_key_values", [&]() -> Result<KeyValues> {
    Parameters parameters;
    parameters.text(instance.value);
    const Rows rows = read(queries_.key_values, parameters);
    KeyValues values;
    for (int row = 0; row < rows.count(); ++row) {
      values.emplace(rows.text(row, 0), KeyValueEntry{make_payload(rows.text(row, 1), rows.text(row, 2)),
                                                      from_unix_ms(rows.integer(row, 3))});
    }
    return values;
  });
}

std::unique_ptr<Subscription> PostgresProvider::subscribe(NodeId node, ProviderListener& listener) {
  auto subscription = listeners_.add(std::move(node), listener);
  announcer_.start();
  return subscription;
}

}  // namespace duramen::inline v0::postgres::detail

namespace duramen::inline v0::postgres {

Result<std::shared_ptr<Provider>> open_provider(const Options& options) {
  return detail::guarded("open", [&]() -> Result<std::shared_ptr<Provider>> {
    return std::shared_ptr<Provider>(std::make_shared<detail::PostgresProvider>(options));
  });
}

Counters counters(const Provider& provider) {
  const auto* ours = dynamic_cast<const detail::PostgresProvider*>(&provider);
  return ours != nullptr ? ours->counters() : Counters{};
}

Result<std::optional<SchemaVersion>> schema_version(Provider& provider) {
  auto* const ours = dynamic_cast<detail::PostgresProvider*>(&provider);
  if (ours == nullptr) return std::optional<SchemaVersion>{};
  Result<SchemaVersion> version = ours->schema_version();
  if (!version) return version.error();
  return std::optional{*version};
}

}  // namespace duramen::inline v0::postgres
