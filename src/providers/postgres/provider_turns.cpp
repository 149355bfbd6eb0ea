// The part of the Provider interface that leases and commits turns.
#include "providers/postgres/error.hpp"
#include "providers/postgres/provider.hpp"
#include "providers/postgres/schema.hpp"
#include "providers/postgres/turn_columns.hpp"
#include "providers/postgres/turn_fetch.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>

namespace duramen::inline v0::postgres::detail {

namespace {

// No holder keeps a lease for longer than this without a renewal.
constexpr Duration own_stolen_kept_for = std::chrono::minutes{10};

// Mail that a turn puts back goes in parts of about this size: the protocol has a bound, and neither side
// should hold all of it twice.
constexpr std::size_t put_back_part = std::size_t{8} << 20u;

bool puts_mail_back(const TurnCommit& commit) { return !commit.put_back.empty(); }

/// A start whose refusal no instance receives.
bool is_detached_start(const OutboundMessage& message) {
  return std::holds_alternative<message::StartOrchestration>(message.body) && !message.if_refused;
}

/// `taken` are the ids that were taken before the batch.
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

/// An event id as a signed number; no event has an id so large that the cut matters.
std::int64_t event_number(EventId id) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(id.value, (1ull << 63) - 2));
}

Error stored_by_another(const HistoryRequest& request) {
  return {ErrorCode::conflict, "read_histories",
          "event " + std::to_string(request.after.value) + " of \"" + request.instance.value +
              "\" was stored by another commit",
          false};
}

/// The requested events of rows `from` to `to`; each row contains a turn.
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

}  // namespace

Result<TurnBatch> PostgresProvider::fetch_turns(const TurnFetch& request) {
  return guarded("fetch_turns", [&]() -> Result<TurnBatch> {
    if (request.limit == 0) return TurnBatch{};
    if (!receives_announcements()) return query_turns(request);
    return empty_fetches_.ask(cache_key(request), clock(), [&] { return query_turns(request); });
  });
}

TurnBatch PostgresProvider::query_turns(const TurnFetch& request) {
  const LeaseTime sent = clock().lease_now();
  const TransactionTime now = transaction_time();
  const Capabilities wanted{request};
  const Floors::Begin floors = floors_.begin(wanted.exact);
  Parameters parameters;
  parameters.number(now.now).number(now.lease_now).limit(request.limit).number(whole(request.lease));
  parameters.number(new_token());
  parameters.number(request.min_engine_version).number(request.max_engine_version);
  wanted.add_to(parameters, floors.ready);
  parameters.number(count_or_largest(request.max_messages)).number(count_or_largest(request.max_bytes));
  parameters.number(count_or_largest(request.max_total_bytes)).number(floors.wake);
  parameters.flag(floors.wants_id && options_.clock == nullptr).number(known_version());
  const Rows rows = run(queries_.fetch_turns, parameters);
  heard(rows.integer(rows.count() - 1, FetchedTurns::now), sent);
  const int last = rows.count() - 1;
  require_known_version(rows.integer(last, FetchedTurns::works_with));
  if (rows.flag(last, FetchedTurns::left_ready)) announce({.turns_ready = true});
  FetchedTurns fetched{rows, request};
  counters_.unreadable_messages += fetched.unreadable();
  const bool complete = options_.clock != nullptr || floors_.end(wanted.exact, floors, fetched.floors());
  TurnBatch batch{.items = fetched.take(), .next_due = rows.optional_time(last, FetchedTurns::next_due)};
  if (!complete && batch.items.empty()) return query_turns(request);
  for (LeasedInstance& item : batch.items) item.lease_until = sent + Duration{whole(request.lease)};
  return batch;
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
    BigintColumn executions, afters, tokens;
    for (const HistoryRequest& request : requests) {
      instances.add(request.instance.value);
      executions.add(request.execution.value);
      afters.add(event_number(request.after));
      tokens.add(request.token.value);
    }
    Parameters parameters;
    parameters.add(std::move(instances)).add(std::move(executions)).add(std::move(afters));
    parameters.add(std::move(tokens));
    const Rows rows = read(queries_.histories, parameters);
    std::vector<Result<std::vector<Event>>> histories;
    histories.reserve(requests.size());
    int from = 0;
    for (std::size_t place = 0; place < requests.size(); ++place) {
      int to = from;
      while (to < rows.count() && rows.number(to, 1) == place + 1) ++to;
      // The first row says only whether the token fits.
      if (from < to && rows.flag(from, 2)) {
        histories.push_back(read_events(rows, from + 1, to, requests[place]));
      } else {
        histories.push_back(stored_by_another(requests[place]));
      }
      from = to;
    }
    return histories;
  });
  if (all) return std::move(*all);
  if (requests.size() == 1 || all.error().retryable)
    return std::vector<Result<std::vector<Event>>>(requests.size(), Result<std::vector<Event>>{all.error()});
  // One request is invalid; the others are not.
  std::vector<Result<std::vector<Event>>> each;
  for (const HistoryRequest& request : requests)
    each.push_back(std::move(read_histories({&request, 1}).front()));
  return each;
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
    // One statement stores all commits: once sent, it cannot be cut short. Only mail that is put back needs
    // more.
    if (commits.empty() || preempt.stop_requested()) return std::vector<CommitResult>{};
    const std::vector<Incarnation> numbers = reserve_numbers(commits);
    std::set<InstanceId> taken = ids_taken_before(commits);
    providers::Notices notices;
    std::optional<std::vector<CommitResult>> stored;
    if (std::ranges::none_of(commits, puts_mail_back)) stored = commit_together(commits, numbers, notices);
    std::vector<CommitResult> results = stored ? std::move(*stored) : until_not_overtaken([&] {
      notices = {};
      return commit_each(commits, numbers, notices);
    });
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

std::optional<std::vector<CommitResult>> PostgresProvider::commit_together(
    std::span<const TurnCommit> commits, std::span<const Incarnation> numbers, providers::Notices& notices) {
  TurnColumns batch;
  for (std::size_t i = 0; i < commits.size(); ++i) batch.add(commits[i], numbers[i]);
  try {
    TurnAnswer answer =
        read_turn_answer(write(queries_.commit_turns, batch.take(transaction_time())), commits);
    notices.stolen = std::move(answer.erased);
    notices.turns_ready = answer.work_ready;
    return std::move(answer.results);
  } catch (const SqlError& error) {
    if (!concerns_one_entry(error)) throw;
    // One commit cannot be stored. Savepoints would slow down every batch, so only this batch uses them.
    return std::nullopt;
  }
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
        if (puts_mail_back(commits[i]) && answer.results.front().outcome == CommitOutcome::committed)
          put_back(*connection, commits[i], answer.results.front().incarnation, answer.put_back_at.front());
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

void PostgresProvider::put_back(Connection& connection, const TurnCommit& commit, Incarnation key,
                                std::int64_t place) {
  const bool at_once = duramen::detail::mutant("mail_is_put_back_in_one_statement");
  for (std::size_t next = 0; next < commit.put_back.size();) {
    TextColumn items;
    for (std::size_t bytes = 0; next < commit.put_back.size() && (bytes < put_back_part || at_once); ++next) {
      const std::string item = to_json(commit.put_back[next], commit.instance);
      bytes += item.size();
      items.add(item);
    }
    const auto count = static_cast<std::int64_t>(items.size());
    Parameters parameters;
    parameters.number(static_cast<std::int64_t>(key.value)).number(place).add(std::move(items));
    ++counters_.queries;
    connection.run(queries_.put_back, parameters);
    place += count;
  }
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
    Parameters parameters;
    parameters.number(transaction_time().lease_now);
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
    for (const std::int64_t held :
         run(queries_.renew_turns, parameters, false, part_of(extend)).integers(0, 0))
      renewed.push_back(held != 0);
    return renewed;
  });
}

}  // namespace duramen::inline v0::postgres::detail
